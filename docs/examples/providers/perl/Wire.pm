# Frames, calls and the life of a process that does one thing at a time (§1, §2, §6 of the contract): the part that is
# the same in every such provider. Knows no method but initialize and shutdown.
package Wire;
use strict;
use warnings;
use Exporter 'import';
use Forms ();
use JSON::PP;
our @EXPORT_OK = qw(serve refuse refuse_not_made);

my $FRAME_BYTES = 1_048_576;    # FR-3: the daemon sends no longer frame
my %CODES = (
    bad_message => -32600, unknown_method => -32601, bad_params => -32602, internal => -32603,
    shutting_down => -32001, not_initialized => -32002, version => -32010, config => -32011, fenced => -32012,
    state_locked => -32013, bad_request => 1005, unknown_template => 1006, transient => 1008, price => 1009,
    quote_gone => 1010, token_conflict => 1011, cursor_gone => 1013,
);
my %EXIT = (version => 78, config => 78, fenced => 0, state_locked => 0);    # after a handshake refused; else 1
my %CHECKING = map { $_ => 1 } qw(describe list ping shutdown);              # HS-7
my $json = JSON::PP->new->utf8->canonical->max_depth(32);

# What goes over the wire as an error. The class decides; `detail` is for people, and never a foreign program's words.
sub refuse {
    my ($class, $detail, %more) = @_;
    die { error_class => $class, (defined $detail ? (detail => $detail) : ()), %more };
}
sub refuse_not_made { my ($class, $detail) = @_; refuse($class, $detail, outcome => 'not_made') }

sub serve {
    my (%provider) = @_;
    if (!$ENV{PROVISIONER_CONTRACT} && -t STDIN) {
        print STDERR "This is a provider: the provisioner starts it and speaks JSON with it over stdin and stdout.\n";
        exit 64;
    }
    binmode STDIN;
    binmode STDOUT;
    $| = 1;
    my $stage = 'new';    # new, serving, checking, stopping

    my $work = sub {
        my ($method, $p) = @_;
        refuse('not_initialized') if $stage eq 'new' && $method ne 'initialize';
        if ($method eq 'initialize') {
            refuse('bad_message', 'initialize came a second time') if $stage ne 'new';
            return greet(\%provider, $p, \$stage);
        }
        refuse('shutting_down') if $stage eq 'stopping';
        my $shape = $provider{shapes}{$method} or refuse('unknown_method');
        refuse('bad_message', 'started to check only') if $stage eq 'checking' && !$CHECKING{$method};
        in_form($shape, $p);
        $stage = 'stopping' if $method eq 'shutdown';
        return $provider{methods}{$method}->($p);
    };

    while (defined(my $line = <STDIN>)) {
        last unless $line =~ s/\r?\n\z//;                       # a line without its LF is no frame
        next if $line eq '';
        my $message = length $line <= $FRAME_BYTES ? eval { $json->decode($line) } : undef;
        if (ref $message ne 'HASH') { warn sprintf "skipped a line of %d bytes that is no message\n", length $line; next }
        next unless exists $message->{method};                  # FR-5: what has no method is never answered
        my ($id, $method, $p) = ($message->{id}, $message->{method}, $message->{params} // {});
        my $is_whole = ($message->{jsonrpc} // '') eq '2.0' && defined $method && !ref $method && ref $p eq 'HASH';
        if (!Forms::is_number($id) || $id != int $id || $id < 1) {
            last if !defined $id && $is_whole && $method eq 'exit';
            next;    # other notifications: unknown ones are dropped, and who does one thing at a time cancels none (CC-6)
        }
        my $result = eval { refuse('bad_message') unless $is_whole; $work->($method, $p) };
        my $problem = $result ? undef : $@;
        if ($problem && ref $problem ne 'HASH') {    # a bug: its words go to the log, the wire learns the class
            warn $problem;
            $problem = { error_class => 'internal' };
        }
        my %error = $problem
            ? (code => $CODES{ $problem->{error_class} }, message => $problem->{error_class}, data => $problem) : ();
        print $json->encode({ jsonrpc => '2.0', id => $id, $problem ? (error => \%error) : (result => $result) }), "\n";
        exit($EXIT{ $problem->{error_class} } // 1) if $problem && $method eq 'initialize' && $stage eq 'new';
        last if $provider{leaving}->();
    }
    exit 0;
}

# HS-3: the version before all else, since params of another version may look different.
sub greet {
    my ($provider, $p, $stage) = @_;
    my %spoken = map { $_ => 1 } @{ $provider->{spoken} };
    my @offered = ref $p->{versions} eq 'ARRAY' ? grep { defined && !ref } @{ $p->{versions} } : ();
    my ($version) = grep { $spoken{$_} } @offered;
    refuse('version', undef, supported => $provider->{spoken}) if @offered && !defined $version;
    in_form($provider->{shapes}{initialize}, $p);
    my $result = $provider->{initialize}->($p);
    $$stage = $p->{mode} eq 'check' ? 'checking' : 'serving';
    return { version => $version, %$result };
}

sub in_form {
    my ($shape, $p) = @_;
    my @faults = $shape->($p, '');
    refuse('bad_params', 'the params do not have their shape', faults => [@faults[0 .. ($#faults > 99 ? 99 : $#faults)]])
        if @faults;
}

1;
