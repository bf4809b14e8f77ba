# SPDX-License-Identifier: BSD-3-Clause
#
# Resident memory stays below that of data, model and -m, and 64 MB more, as
# klr-train(1) promises: for sparse rows of many features, for rows that are long
# and for many classes, with sixteen threads, which take more than one does, each
# with rows or a class of its own.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use KLR;
use Judge;
use List::Util qw(max);

plan skip_all => 'sanitizers have memory of their own'
    if sanitized();

my $dir = scratch();
my $random = uniform(5);

# Rows of `count` features below `most`, in ascending order.
sub sparse_row
{
    my ($label, $count, $most) = @_;
    my %index;
    $index{ 1 + int($most * $random->()) } = 1 while keys %index < $count;
    return join ' ', $label, map { sprintf '%d:%.3f', $_, $random->() }
        sort { $a <=> $b } keys %index;
}

put("$dir/wide", join '', map { sparse_row($_ % 2, 60, 1e6) . "\n" } 1 .. 3000);
put("$dir/own", join '', map {
    my $first = 357 * $_;
    join(' ', $_ % 2, map { ($first + $_) . ':' . ($_ % 7 + 1) } 0 .. 356) . "\n"
} 1 .. 2000);
put("$dir/long", '1 ' . join(' ', map {"$_:0.5"} 1 .. 1_000_000)
        . "\n-1 5:1 77:0.5\n");
put("$dir/short", "-1 5:1 77:0.5\n1 3:2\n");
put("$dir/classes", clusters(seed => 7, labels => [ 1 .. 26 ], n => 2600,
    d => 16));

put("$dir/last", join '', map { ($_ % 2) . " 1:$_ 2147483647:" . $_ % 3 . "\n" }
    1 .. 20);

# Features as a hash of words into all indices has them.
put("$dir/hashed", join '', map { sparse_row($_ % 2, 50, 2**31 - 2) . "\n" }
    1 .. 400);

# Rows of 9000 bits, a quarter of them set; and rows of digits, whose first two
# tell the class.
sub bits
{
    my ($most) = @_;
    my ($k, @set) = (0);
    push @set, "$k:1" while ($k += 1 + int(7 * $random->())) <= $most;
    return "@set";
}

put("$dir/bits", join '', map { $_ % 2 . ' ' . bits(9000) . "\n" } 1 .. 1000);
my %numbers = (bits => get("$dir/bits") =~ tr/://);
put("$dir/digits", join '', map {
    my @digit = map { 1 + int(8 * $random->()) } 1 .. 100;
    join(' ', int($digit[0] + $digit[1] > 9), map {"$_:$digit[$_ - 1]"} 1 .. 100)
        . "\n"
} 1 .. 20000);

# A command prints to a file, if at all, and stays below the size of the files,
# -m and 64 MB; a file has at least 30 bytes for each of its numbers, if these are
# known.
sub stays
{
    my ($memory, $command, @files) = @_;
    my ($name, @options) = split ' ', $command;
    my $run = run([ tool('resident'), bin($name), @options ]);
    is($run->{exit}, 0, $command) or diag($run->{err});
    my ($kilobytes) = $run->{out} =~ /(\d+)\n\z/;
    my $most = ($memory + 64) * 1024;
    $most += max(-s "$dir/$_", 30 * ($numbers{$_} // 0)) / 1024 for @files;
    cmp_ok($kilobytes, '<', $most, "$command: KB");
}

for my $data (qw(wide own long)) {
    for my $options ('-e 0.1', '-s svm') {
        stays(40, "klr-train -q -j 16 -m 40 $options $dir/$data "
                . "$dir/$data.model", $data, "$data.model");
    }
    stays(0, "klr-predict -q -j 16 $dir/short $dir/$data.model $dir/out",
        'short', "$data.model");
}
stays(0, "klr-predict -q -j 16 $dir/own $dir/own.model $dir/out", 'own',
    'own.model');
stays(40, "klr-train -q -j 16 -m 40 -v 3 -e 0.1 $dir/$_", $_) for qw(wide own);
stays(20, 'klr-train -q -j 16 -m 20 -v 3 -c 1,10,100,1000 -g 0.1,1 -e 0.5 '
        . "$dir/classes", 'classes');

stays(20, "klr-train -q -m 20 -g 0.01 -c 1 -e 0.5 $dir/$_ $dir/$_.model", $_,
    "$_.model") for qw(bits digits);
stays(20, "klr-train -q -m 20 -s svm -g 0.01 $dir/bits $dir/bits.model", 'bits',
    'bits.model');
stays(0, "klr-predict -q $dir/bits $dir/bits.model $dir/out", 'bits.model');

# Of long rows that are answered, 80 bytes a number, and of their vectors.
stays(2 * 80, "klr-predict -q -j 16 $dir/long $dir/long.model $dir/out");

for my $scale (qw(none minmax)) {
    stays(40, "klr-train -q -m 40 --scale $scale $dir/last $dir/last.model",
        'last', 'last.model');
    stays(0, "klr-predict -q $dir/last $dir/last.model $dir/out", 'last',
        'last.model');
}
for my $options ('-t linear', '-t rbf') {
    stays(40, "klr-train -q -m 40 $options $dir/hashed $dir/hashed.model",
        'hashed', 'hashed.model');
    stays(0, "klr-predict -q $dir/hashed $dir/hashed.model $dir/out",
        'hashed', 'hashed.model');
}

# By --scale the zeros of rows that lack a feature are values: data are as large
# as if klr-scale had written them.
for my $scale (qw(minmax standard)) {
    run([ qw(klr-scale --exact), $scale eq 'standard' ? '--standardize' : (),
            "$dir/hashed" ], stdout_file => "$dir/scaled");
    stays(40, "klr-train -q -m 40 -t linear --scale $scale $dir/hashed "
            . "$dir/hashed.model", 'scaled', 'hashed.model');
    stays(0, "klr-predict -q $dir/hashed $dir/hashed.model $dir/out", 'hashed',
        'hashed.model');
}
stays(0, "klr-scale -l 0 -s $dir/range $dir/hashed", 'hashed', 'range');
stays(40, "klr-train -q -m 40 --auto -g 0.1 -c 1 $dir/hashed "
        . "$dir/hashed.model", 'hashed', 'hashed.model');

done_testing;
