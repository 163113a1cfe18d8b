# A provider that has one template and nothing else, in Perl and without a library, so that a thousand of them fit into
# little memory. It finds the id and the method by their shape, which is enough for the frames of one known daemon.
use strict;
use warnings;

$| = 1;
my $template = '{"template":"small","kind":"host","unit":"machine","units_per_instance":1,"attributes":{"cores":4},'
  . '"granularity":{"max_units":100},"price":{"amount":"1","currency":"USD","per":"hour"},'
  . '"lead_time":{"typical_s":30,"worst_s":60}}';
my %answers = (
    initialize => '{"version":"2.0","provider":{"name":"idle","version":"1"},"kinds":["host"],'
      . '"state_id":"5ca1ab1e5ca1ab1e","promises":{"token":{"replay":"exact","lifetime_s":86400},'
      . '"list":{"covers":"far_side","delay_s":10},"calls":{"in_flight":8,"late_effect_s":5}}}',
    describe => qq({"revision":"r1","templates":[$template]}),
    list     => '{"instances":[],"age_s":0,"complete":true}',
    ping     => '{"health":"ok"}',
    shutdown => '{}',
);
while (my $line = <STDIN>) {
    my ($id)     = $line =~ /"id":(\d+)/ or next;
    my ($method) = $line =~ /"method":"(\w+)"/;
    my $answer   = $answers{$method};
    print defined $answer
      ? qq({"jsonrpc":"2.0","id":$id,"result":$answer}\n)
      : qq({"jsonrpc":"2.0","id":$id,"error":{"code":-32601,"message":"unknown_method"}}\n);
}
