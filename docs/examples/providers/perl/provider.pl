#!/usr/bin/env perl
# A provider in Perl, core modules only, that does one thing at a time: read a line, work, write a line.
#
# Its far side is vmtool, which knows no tokens: asked twice, it makes two. So nothing but our own records stands
# between a repeated frame and a second purchase: token.replay is `at_most_once`. Each call of the tool is on the disk
# before it is made; if we die inside one, nobody can ever say whether it made a machine, and we say just that:
# `unknown`, and never call again. What is lost that way ends by itself after HOURS, and that too is promised.
use strict;
use warnings;
use Digest::SHA qw(sha256_hex);
use File::Basename qw(dirname);
use File::Spec;
use IO::Poll qw(POLLIN POLLHUP);
use JSON::PP;
use POSIX qw(strftime);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
use Time::Local qw(timegm);
my $home;
BEGIN { $home = dirname(File::Spec->rel2abs(__FILE__)) }
use lib $home;
use Records;
use Shapes;
use Wire qw(serve refuse refuse_not_made);

my $LEAVE_S     = 7;              # HS-9: ten seconds from the end of stdin to ours, some of them spare
my $KEEP_S      = 30 * 86_400;
my $MAX_UNITS   = 5;              # machines in one purchase
my $REPORTS     = 200;            # RS-1: reports in one answer; the rest is asked for again
my $json = JSON::PP->new->utf8->canonical;

# ------------------------------------------------------------------------------------------------ how a process begins

my ($session, $config, $records);

sub initialize {
    my ($p) = @_;
    my @faults = $CONFIG->($p->{config}, '');
    refuse('config', 'the configuration has faults', faults => \@faults) if @faults;    # HS-4: all of them
    my %given = map { $_ => $p->{config}{$_} } grep { defined $p->{config}{$_} } keys %{ $p->{config} };
    $config = { currency => 'USD', call_s => 20, vmtool => "$home/vmtool", desk => "$p->{state_dir}/desk", %given };
    $records = Records->new($p->{state_dir});
    $records->lock or refuse('state_locked', 'another process serves this state folder');
    my $state_id = $records->claim_epoch($p->{lineage}, $p->{epoch}) // refuse('fenced', 'a higher epoch was here');
    $records->load($_) for qw(purchases returns);
    mkdir $config->{desk} unless defined $given{desk};    # a desk of our own; a configured one must be there
    close_what_was_cut_off();
    $session = $p;
    my $create_s = $config->{call_s} * $MAX_UNITS + 10;
    return {
        provider => { name => 'vmtool', version => '1.0' }, kinds => ['host'], state_id => $state_id,
        promises => {
            token  => { replay => 'at_most_once', lifetime_s => $KEEP_S,
                unknown_ends_s => $config->{hours} * 3600 + $config->{call_s} },
            mark   => { kept => 'own_records' },
            list   => { covers => 'own_records', delay_s => 0 },
            memory => { where => 'state_dir', keep_s => $KEEP_S },
            limits => { price_cap => 'life', deadline => 'honoured' },
            return => { partial => JSON::PP::false, observed => JSON::PP::true, typical_s => 1 },
            calls  => { in_flight => 1, answer_s => { request => $create_s, return => 600 }, not_after => 'honoured',
                late_effect_s => $config->{call_s} },
        },
    };
}

# Records left open by a process that died. Where no call of the tool was open, the purchase is over; where one was,
# it stays unknown for ever (ST-6). Old ones are made small when nothing of them is left.
sub close_what_was_cut_off {
    my $living = living();
    for my $record ($records->all('purchases')) {
        close_purchase($record, 'transient') if $record->{outcome} eq 'open' && $record->{calls} == @{ $record->{ids} };
        my $is_over = $record->{outcome} ne 'open' && time - $record->{at} > $KEEP_S;
        next if !$is_over || !$record->{template} || !$living || grep { $living->{ $_->{id} } } @{ $record->{ids} };
        # Its token and its outcome stay: else it would be bought again, or be called not made (OT-1).
        my %small = ((map { $_ => $record->{$_} } qw(request_id token content outcome at)), ids => []);
        eval { keep(\%small); 1 } or warn "$record->{token} stays large: $@";    # a full disk: at the next start
    }
}

sub boot_now { open my $uptime, '<', '/proc/uptime' or die "/proc/uptime: $!"; return (split ' ', <$uptime>)[0] }

# EP-2, EP-4: asked right before every change at the far side.
my $leave_by;    # the monotonic second by which we must have gone, once the end has begun
sub fence {
    my ($p) = @_;
    refuse_not_made('fenced', 'not the epoch of this process') if $p->{epoch} != $session->{epoch};
    refuse_not_made('fenced', 'too late to begin') if boot_now() >= $p->{not_after};
    return if $records->epoch_of($session->{lineage}) == $session->{epoch};
    $leave_by = now();
    refuse_not_made('fenced', 'a higher epoch was here');
}

# ---------------------------------------------------------------------------------------------------- the far side

sub now { return clock_gettime(CLOCK_MONOTONIC) }
my $tool;    # pid of the tool while it runs
$SIG{TERM} = sub { exit 0 unless $tool; $leave_by = now() + $LEAVE_S };

# Run vmtool; its exit status and output, or nothing if it had to be killed: then nobody knows what it did.
# While it runs we read no line, but we do notice the end of stdin (HS-9): poll tells it without reading.
sub vmtool {
    my (@words) = @_;
    pipe my $from, my $to or die "pipe: $!";
    $tool = fork // die "fork: $!";
    if (!$tool) {
        $SIG{TERM} = 'DEFAULT';
        open STDIN, '<', '/dev/null';
        open STDOUT, '>&', $to;
        $ENV{VMTOOL_SLOW_S} = $config->{slow_s} // 0;
        exec { $config->{vmtool} } $config->{vmtool}, $config->{desk}, @words or POSIX::_exit(127);
    }
    close $to;
    my ($output, $killed, $until) = ('', 0, now() + $config->{call_s});
    my $poll = IO::Poll->new;
    $poll->mask($from => POLLIN);
    $poll->mask(\*STDIN => POLLHUP);
    while (1) {
        $until = $leave_by if defined $leave_by && $leave_by < $until;
        my $left = $until - now();
        if ($left <= 0) { $killed = kill 'KILL', $tool; last }
        $poll->poll($left);
        if ($poll->events($from)) { sysread $from, $output, 65_536, length $output or last }
        if ($poll->events(\*STDIN) & POLLHUP) {
            $leave_by //= now() + $LEAVE_S;
            $poll->remove(\*STDIN);
        }
    }
    waitpid $tool, 0;
    undef $tool;
    return $killed || $? & 127 ? () : ($? >> 8, $output);
}

# All machines on the desk by id, or undef if it can't be read: then nothing is known, and that is no empty desk.
sub living {
    my ($status, $output) = vmtool('list');
    return unless defined $status && $status == 0;
    return { map { /\A(\S+) \S+ ([0-9]+)\z/ ? ($1 => $2) : () } split /\n/, $output };
}

# ------------------------------------------------------------------------------------------------------ purchases

sub request {
    my ($p) = @_;
    my %content = map { $_ => $p->{$_} } grep { defined $p->{$_} } keys %CONTENT;    # RQ-1: all but the fence
    my $content = sha256_hex($json->encode(without_nulls({ min_units => 1, %content })));
    if (my $record = $records->get(purchases => $p->{token})) {
        refuse('token_conflict', 'it has bought something else') if ($record->{content} // $content) ne $content;
        return report($record, living());    # whatever became of it: it is not bought again
    }
    refuse_not_made('transient', 'records are unreadable: see *.unreadable in the state folder') if $records->{damaged};
    my $record = { sell($p), content => $content };
    fence($p);
    eval { keep($record); 1 } or refuse_not_made('transient', 'the record could not be written');    # ST-2: disk full
    my $problem = buy($p, $record);
    return report(defined $problem ? close_purchase($record, $problem) : $record, living());
}

sub without_nulls {
    my ($v) = @_;
    return $v unless ref $v eq 'HASH';
    return { map { defined $v->{$_} ? ($_ => without_nulls($v->{$_})) : () } keys %$v };
}

# The terms of a purchase that nobody has seen before (RQ-3: what we add, price and hours, is settled here), or no.
sub sell {
    my ($p) = @_;
    my $size = $config->{sizes}{ $p->{template} } or refuse_not_made('unknown_template');
    refuse_not_made('quote_gone') if defined $p->{quote};
    refuse_not_made('bad_request', "at most $MAX_UNITS at a time") if $p->{units} > $MAX_UNITS;
    my $cap = $p->{price_cap}
        or refuse('bad_params', undef, faults => [{ path => '/price_cap', detail => 'is required' }]);
    my $price = { amount => $size->{price}, currency => $config->{currency}, per => 'hour' };
    refuse_not_made('price', "it is $price->{amount} $price->{currency}")
        if $cap->{currency} ne $price->{currency} || $cap->{per} ne 'hour'
        || nanos($cap->{amount}) lt nanos($size->{price});
    refuse_not_made('transient', 'the deadline is over') if is_over($p->{deadline});
    return ((map { $_ => $p->{$_} } qw(request_id token template units mark)), price => $price,
        hours => $config->{hours}, ids => [], calls => 0, outcome => 'open', at => time);
}

# Money is never a floating-point number: 21 digits, to be compared as text.
sub nanos {
    my ($whole, $part) = split /\./, $_[0];
    return sprintf('%012s', $whole) . substr(($part // '') . '0' x 9, 0, 9);
}

sub is_over {
    return 0 unless defined $_[0] && $_[0] =~ /\A(\d+)-(\d+)-(\d+)T(\d+):(\d+):(\d+)/;
    return (eval { timegm($6, $5, $4, $3, $2 - 1, $1) } // 0) <= time;
}

# Call the tool once for each unit. The answer is why it stopped ('' if all went well), undef if a call was lost.
sub buy {
    my ($p, $record) = @_;
    while (@{ $record->{ids} } < $record->{units}) {
        return 'shutting_down' if defined $leave_by;
        return 'transient' if is_over($p->{deadline});
        $record->{calls}++;
        keep($record);    # ST-1: before the call; if we die in it, this is how we know
        if (!eval { fence($p); 1 }) { $record->{calls}--; return 'fenced' }
        my ($status, $output) = vmtool('create', $record->{template}, $record->{hours});
        return undef unless defined $status;
        my ($id) = $output =~ /\A(\S+)\n/;
        return undef if $status == 0 && !defined $id;    # it made something and did not say what
        $record->{calls}-- if $status;                   # vmtool makes nothing when it fails; not every tool is so kind
        return 'transient' if $status;
        push @{ $record->{ids} }, { id => $id, made_at => time };
        keep($record);
    }
    return '';
}

sub keep { my ($record) = @_; return $records->keep(purchases => $record->{token}, $record) }

# Final: the words are on the disk before anybody hears them (ST-1), and never change (RP-1).
sub close_purchase {
    my ($record, $why) = @_;
    my $short = $record->{units} - @{ $record->{ids} };
    $record->{problems} = [{ error_class => $why, units => $short }] if $short > 0;
    $record->{outcome} = @{ $record->{ids} } ? 'made' : 'not_made';
    return keep($record);
}

sub report {
    my ($record, $living) = @_;
    my $outcome = $record->{outcome} eq 'open' ? 'unknown' : $record->{outcome};    # an open one has lost a call
    return { (map { $_ => $record->{$_} } qw(request_id token)), outcome => $outcome,
        instances => [map { view($record, $_, $living) } @{ $record->{ids} }], problems => $record->{problems} // [] };
}

sub rfc3339 { return strftime('%Y-%m-%dT%H:%M:%SZ', gmtime $_[0]) }

sub view {
    my ($record, $made, $living) = @_;
    my $ends_at = $made->{made_at} + $record->{hours} * 3600;
    my %same = (instance => $made->{id}, template => $record->{template}, name => $made->{id},
        price => $record->{price}, made_at => rfc3339($made->{made_at}), expires_at => rfc3339($ends_at));
    return { %same, units => 1, state => 'unknown' } unless $living;
    return { %same, units => 1, state => 'running' } if $living->{ $made->{id} };
    my $reason = was_returned($made->{id}) ? 'returned' : $ends_at <= time ? 'expired' : 'outside';
    return { %same, units => 0, state => 'gone', reason => $reason };
}

sub was_returned {
    my ($id) = @_;
    return scalar grep { grep { $_->{instance} eq $id } @{ $_->{items} } } $records->all('returns');
}

sub request_status {
    my ($p) = @_;
    my $living = living();
    my @asked = splice @{ $p->{requests} }, 0, $REPORTS;
    my @records = map { $records->get(purchases => $_->{token}) // never_heard_of($_) } @asked;
    return { requests => [map { report($_, $living) } @records] };
}

# Our records are whole and know nothing: it is not made, and a tombstone sees to it that it never will be (§4).
sub never_heard_of {
    my ($asked) = @_;
    my %record = (request_id => $asked->{request_id}, token => $asked->{token}, ids => [], calls => 0, at => time);
    return { %record, outcome => 'open' } if $records->{damaged};
    return keep({ %record, outcome => 'not_made' });
}

# ----------------------------------------------------------------------------------------------------- give-backs

sub give_back {
    my ($p) = @_;
    fence($p);
    my $record = $records->keep(returns => $p->{return_id}, { items => $p->{items}, at => time });
    for my $item (grep { !$_->{keep} && owner_of($_->{instance}) } @{ $p->{items} }) {    # only what is ours by the books
        last if defined $leave_by || !eval { fence($p); 1 };
        vmtool('delete', $item->{instance});    # how it ended does not matter: what counts is seen below
    }
    return { items => settled($record->{items}) };
}

sub owner_of {
    my ($id) = @_;
    return (grep { grep { $_->{id} eq $id } @{ $_->{ids} } } $records->all('purchases'))[0];
}

# One word on each item, from what is on the desk now: `returned` is an observation.
sub settled {
    my ($items) = @_;
    my $living = living();
    return [map { { instance => $_->{instance}, state_of_return($_, $living) } } @$items];
}

sub state_of_return {
    my ($item, $living) = @_;
    return (state => 'failed', problem => { error_class => 'unsupported', detail => 'all or nothing' }) if $item->{keep};
    return (state => 'not_found') unless owner_of($item->{instance});
    return (state => 'unknown', problem => { error_class => 'transient' }) unless $living;
    return $living->{ $item->{instance} } ? (state => 'failed') : (state => 'returned', units => 0);
}

sub return_status {
    my ($p) = @_;
    my %found = map { $_ => $records->get(returns => $_) } @{ $p->{returns} };
    return { returns => [map {
        { return_id => $_, $found{$_} ? (items => settled($found{$_}{items})) : () }
    } @{ $p->{returns} }] };
}

# -------------------------------------------------------------------------------------------------- what there is

sub describe {
    my ($p) = @_;
    my $worst_s = $config->{call_s} * $MAX_UNITS;
    my @templates = map {
        my $size = $config->{sizes}{$_};
        {   template => $_, kind => 'host', unit => 'machine', units_per_instance => 1, model => 'on_demand',
            attributes => { cores => $size->{cores}, memory => { value => $size->{memory_gib}, unit => 'GiB' } },
            granularity => { max_units => $MAX_UNITS }, hold => { max_s => $config->{hours} * 3600 },
            price => { amount => $size->{price}, currency => $config->{currency}, per => 'hour' },
            lead_time => { typical_s => 1, worst_s => $worst_s } }
    } sort keys %{ $config->{sizes} };
    my $revision = substr sha256_hex($json->encode(\@templates)), 0, 16;
    return { revision => $revision, base => $revision } if ($p->{known} // '') eq $revision;
    return { revision => $revision, templates => \@templates };
}

# Pages in the order of ids; the cursor is the last id told. It covers our records, and promises no more than that: on a
# desk that others use too, what we have no record of is not ours to tell, least of all to return.
sub list_ours {
    my ($p) = @_;
    my $after = '';
    if (defined $p->{cursor}) { ($after) = $p->{cursor} =~ /\Aafter:(\S+)\z/ or refuse('cursor_gone') }
    my $living = living();
    my %ours;
    for my $record ($records->all('purchases')) {
        $ours{ $_->{id} } = { %{ view($record, $_, $living) }, mark => $record->{mark} } for @{ $record->{ids} };
    }
    delete @ours{ grep { $ours{$_}{state} eq 'gone' } keys %ours };
    if ($p->{instances}) {
        return { age_s => 0, complete => JSON::PP::false, instances => [grep { $_ } @ours{ @{ $p->{instances} } }],
            not_found => [grep { !$ours{$_} } @{ $p->{instances} }] };
    }
    my @ids = grep { $_ gt $after } sort keys %ours;
    my @page = splice @ids, 0, $p->{limit} // 1000;
    my $is_last = !@ids || !$living;    # a pass that can't be completed has no further page
    return { age_s => 0, instances => [@ours{@page}], $is_last ? () : (next => "after:$page[-1]"),
        complete => $is_last && $living && !$records->{damaged} ? JSON::PP::true : JSON::PP::false };
}

sub ping {
    return { health => 'down', problem => { error_class => 'internal', detail => 'records are unreadable' } }
        if $records->{damaged};
    return { health => 'ok' } if living();
    return { health => 'down', problem => { error_class => 'transient', detail => "the desk can't be read" } };
}

serve(
    spoken => ['2.0'], shapes => \%SHAPES, initialize => \&initialize, leaving => sub { defined $leave_by },
    methods => { describe => \&describe, request => \&request, request_status => \&request_status,
        return => \&give_back, return_status => \&return_status, list => \&list_ours, ping => \&ping,
        shutdown => sub { { open => 0 } } },
);
