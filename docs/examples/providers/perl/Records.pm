# The state folder: records that survive a crash, its lock, the highest epoch that was here (§9, §10 of the contract).
# Knows files only, and nothing of what they record. Names of records are names of the contract: a-z, 0-9, hyphens.
package Records;
use strict;
use warnings;
use Fcntl qw(:flock);
use IO::Handle;
use JSON::PP;

my $json = JSON::PP->new->utf8->canonical;

sub new {
    my ($class, $folder) = @_;
    mkdir $folder, 0700 or -d $folder or die "$folder: $!";
    return bless { folder => $folder, damaged => 0, kinds => {} }, $class;
}

# HS-6: 0 if another process has it. The handle stays open, and locked, while we live.
sub lock {
    my ($self) = @_;
    open $self->{lock}, '>>', "$self->{folder}/lock" or die "lock: $!";
    return flock $self->{lock}, LOCK_EX | LOCK_NB;
}

# EP-1 and ST-4: the folder's random id, or nothing if a higher epoch was here.
sub claim_epoch {
    my ($self, $lineage, $epoch) = @_;
    my $memory = $self->_read("$self->{folder}/memory.json") // { state_id => _random_id(), epochs => {} };
    return if ($memory->{epochs}{$lineage} // 0) > $epoch;
    $memory->{epochs}{$lineage} = 0 + $epoch;
    $self->_replace("$self->{folder}/memory.json", $memory);
    return $memory->{state_id};
}

# EP-2: the epoch on the disk now.
sub epoch_of {
    my ($self, $lineage) = @_;
    return (($self->_read("$self->{folder}/memory.json") // {})->{epochs} // {})->{$lineage} // -1;
}

# Read all records of one kind.
sub load {
    my ($self, $kind) = @_;
    my $folder = "$self->{folder}/$kind";
    mkdir $folder, 0700 or -d $folder or die "$folder: $!";
    opendir my $names, $folder or die "$folder: $!";
    for my $file (readdir $names) {
        $self->{damaged} = 1 if $file =~ /\.unreadable\z/;    # until somebody has looked and removed it
        next unless $file =~ /\A(.+)\.json\z/;
        my $record = $self->_read("$folder/$file");
        $self->{kinds}{$kind}{$1} = $record if $record;
    }
}

sub get { my ($self, $kind, $name) = @_; return $self->{kinds}{$kind}{$name} }
sub all { my ($self, $kind) = @_; return values %{ $self->{kinds}{$kind} // {} } }

# On the disk first, then in memory: whatever we say was said from what survives.
sub keep {
    my ($self, $kind, $name, $record) = @_;
    $self->_replace("$self->{folder}/$kind/$name.json", $record);
    return $self->{kinds}{$kind}{$name} = $record;
}

# ST-2: temporary file, fsync, rename, fsync of the folder. A crash leaves the old file or the new one, whole.
sub _replace {
    my ($self, $file, $record) = @_;
    open my $spare, '>', "$file.tmp" or die "$file: $!";
    print {$spare} $json->encode($record) or die "$file: $!";
    $spare->flush && $spare->sync && close $spare or die "$file: $!";
    rename "$file.tmp", $file or die "$file: $!";
    (my $folder = $file) =~ s{/[^/]*\z}{};
    open my $names, '<', $folder or die "$folder: $!";
    $names->sync or die "$folder: $!";
}

# ST-2: what can't be read is set aside for people, and never taken for "there was none".
sub _read {
    my ($self, $file) = @_;
    return unless -e $file;
    my $record = eval {
        open my $in, '<', $file or die "$file: $!";
        local $/;
        $json->decode(scalar <$in>);
    };
    return $record if ref $record eq 'HASH';
    rename $file, "$file.unreadable";
    $self->{damaged} = 1;
    return;
}

sub _random_id {
    open my $random, '<:raw', '/dev/urandom' or die "/dev/urandom: $!";
    read $random, my $bytes, 16;
    return unpack 'H*', $bytes;
}

1;
