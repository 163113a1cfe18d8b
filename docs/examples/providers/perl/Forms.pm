# What values look like on the wire (§3 of the contract), and how all faults of a message are found at once.
# A form is a function from (value, path) to a list of faults. Knows no method and does nothing but look.
package Forms;
use strict;
use warnings;
use B ();
use Exporter 'import';
our @EXPORT = qw(must may object list map_of text int_from number any_object is_number);

# "3" is no number. Perl itself does not care, but remembers what a scalar was made as.
sub is_number {
    my ($v) = @_;    # a copy: looking at the caller's own scalar as text would change what it remembers
    return 0 if !defined $v || ref $v;
    my $flags = B::svref_2object(\$v)->FLAGS;
    return ($flags & (B::SVp_IOK | B::SVp_NOK)) && !($flags & B::SVp_POK) ? 1 : 0;
}

sub fault { my ($path, $detail) = @_; return { path => $path, detail => $detail } }

sub text {
    my ($pattern, $detail) = @_;
    return sub {
        my ($v, $path) = @_;
        return !ref $v && !is_number($v) && $v =~ $pattern ? () : fault($path, $detail);
    };
}

sub int_from {
    my ($least, $most) = (@_, 9_007_199_254_740_991);    # 2^53 - 1
    return sub {
        my ($v, $path) = @_;
        return is_number($v) && $v == int $v && $v >= $least && $v <= $most
            ? () : fault($path, "must be an integer from $least to $most");
    };
}

sub number { return sub { is_number($_[0]) ? () : fault($_[1], 'must be a number') } }
sub any_object { return sub { ref $_[0] eq 'HASH' ? () : fault($_[1], 'must be an object') } }

sub list {
    my ($form, $least, $most) = @_;
    return sub {
        my ($v, $path) = @_;
        return fault($path, "must be a list of $least to $most")
            if ref $v ne 'ARRAY' || @$v < $least || @$v > $most;
        return map { $form->($v->[$_], "$path/$_") } 0 .. $#$v;
    };
}

sub map_of {
    my ($pattern, $form) = @_;
    return sub {
        my ($v, $path) = @_;
        return fault($path, 'must be an object that is not empty') if ref $v ne 'HASH' || !%$v;
        return map { ($_ =~ $pattern ? () : fault("$path/$_", 'has a name that may not be used'),
                      $form->($v->{$_}, "$path/$_")) } sort keys %$v;
    };
}

# object(closed => 0, name => must(form), other => may(form)): null means absent, and other names are faults if closed.
sub must { my ($form) = @_; return { needed => 1, form => $form } }
sub may  { my ($form) = @_; return { needed => 0, form => $form } }

sub object {
    my (undef, $closed, %shape) = @_;
    return sub {
        my ($v, $path) = @_;
        return fault($path, 'must be an object') if ref $v ne 'HASH';
        my @faults;
        for my $name (sort keys %shape) {
            if (defined $v->{$name}) { push @faults, $shape{$name}{form}->($v->{$name}, "$path/$name") }
            elsif ($shape{$name}{needed}) { push @faults, fault("$path/$name", 'is required') }
        }
        push @faults, map { fault("$path/$_", 'is not known here') } grep { $closed && !$shape{$_} } sort keys %$v;
        return @faults;
    };
}

1;
