# The params of every method served here, and the configuration. Fields nobody knows are ignored in params (GR-2); in the
# configuration, where they are a slip of the pen, they are faults.
package Shapes;
use strict;
use warnings;
use Exporter 'import';
use Forms;
our @EXPORT = qw(%CONTENT %SHAPES $CONFIG);

my $NAME   = text(qr/\A[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?\z/, 'must be up to 40 of a-z, 0-9 and inner hyphens');
my $REF    = text(qr{\A[A-Za-z0-9][A-Za-z0-9._:@=+/-]{0,199}\z}, 'must be a reference');
my $TEXT   = text(qr/\A.{0,500}\z/s, 'must be a text of up to 500 characters');
my $CURSOR = text(qr/\A[ -~]{1,2048}\z/, 'must be 1 to 2048 printable ASCII characters');
my $PATH   = text(qr{\A/[^\0]*\z}, 'must be an absolute path');
my $TIME   = text(qr/\A\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,3})?Z\z/a, 'must be a time like 2031-03-04T17:58:12Z');
my $AMOUNT = text(qr/\A(0|[1-9][0-9]{0,11})(\.[0-9]{1,9})?\z/, 'must be an amount like "2.19", as text');
my $CURRENCY = text(qr/\A[A-Z]{3}\z/, 'must be a currency of three capital letters');
my $MONEY  = object(closed => 0, amount => must($AMOUNT), currency => must($CURRENCY),
    per => must(text(qr/\A(hour|unit_hour|purchase)\z/, 'must be hour, unit_hour or purchase')));
my $MARK   = object(closed => 0, epoch => must(int_from(0)),
    map { $_ => must($NAME) } qw(cluster lineage provider request_id token));
my @FENCE  = (epoch => must(int_from(0)), not_after => must(number()));
my @PURCHASE = (request_id => must($NAME), token => must($NAME), template => must($REF), units => must(int_from(1)),
    mark => must($MARK));
our %CONTENT = (@PURCHASE, min_units => may(int_from(1)), price_cap => may($MONEY), quote => may($REF),
    duration_s => may(int_from(0)), deadline => may($TIME), consumer => may($NAME), data => may(any_object()));
our %SHAPES = (
    initialize => object(closed => 0, versions => must(list($TEXT, 1, 16)), epoch => must(int_from(0)),
        mode => must(text(qr/\A(serve|check)\z/, 'must be serve or check')),
        (map { $_ => must($NAME) } qw(cluster lineage provider owner)), config => must(any_object()),
        state_dir => must($PATH), frame_bytes => must(int_from(1_048_576)), answer_s_max => must(int_from(1)),
        credentials_dir => may($PATH)),
    describe       => object(closed => 0, known => may($TEXT), cursor => may($CURSOR)),
    request        => object(closed => 0, %CONTENT, @FENCE),
    request_status => object(closed => 0, requests => must(list(object(closed => 0, @PURCHASE), 1, 500))),
    return         => object(closed => 0, return_id => must($NAME), @FENCE, items => must(list(
        object(closed => 0, instance => must($REF), keep => must(int_from(0))), 1, 1000))),
    return_status  => object(closed => 0, returns => must(list($NAME, 1, 500))),
    list           => object(closed => 0, cursor => may($CURSOR), limit => may(int_from(1, 1000)),
        instances => may(list($REF, 0, 1000))),
    ping           => object(closed => 0),
    shutdown       => object(closed => 0, grace_s => must(int_from(0))),
);
our $CONFIG = object(closed => 1, hours => must(int_from(1, 8760)), currency => may($CURRENCY), desk => may($PATH),
    vmtool => may($PATH), call_s => may(int_from(1, 60)), slow_s => may(int_from(0, 60)),
    sizes => must(map_of(qr/\A[a-z0-9]{1,16}\z/,
        object(closed => 1, cores => must(int_from(1)), memory_gib => must(int_from(1)), price => must($AMOUNT)))));

1;
