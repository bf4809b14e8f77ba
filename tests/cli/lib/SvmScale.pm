# SPDX-License-Identifier: BSD-3-Clause
#
# klr-scale beside svm-scale, byte for byte.
package SvmScale;
use strict;
use warnings;
use Exporter 'import';
use Test::More;
use KLR;

our @EXPORT = qw(compare_scaling);

# A test: `file` scaled with the options gives the same output and the same
# range file, and so does each program with the other's range file.
sub compare_scaling
{
    my ($peer, $file, @options) = @_;
    my $dir = scratch();
    my $theirs = run([ $peer, @options, '-s', "$dir/theirs", $file ]);
    my $ours = run([ 'klr-scale', @options, '-s', "$dir/ours", $file ]);
    my $same = $theirs->{out} eq $ours->{out}
        && get("$dir/theirs") eq get("$dir/ours");
    my $back = run([ $peer, '-r', "$dir/ours", $file ])->{out};
    $same &&= $back eq run([ 'klr-scale', '-r', "$dir/theirs", $file ])->{out};
    my ($name) = $file =~ m{([^/]+)$};
    ok($same && length $back, "as svm-scale: @options $name");
}

1;
