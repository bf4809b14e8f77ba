# SPDX-License-Identifier: BSD-3-Clause
#
# A linear model is one vector of weights for each machine, with the decision
# values of its support vectors, which --keep-sv and --sv-indices keep.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use KLR;
use Judge;

my $dir = scratch();

sub told
{
    my ($command) = @_;
    my $run = run([ split ' ', $command ], cwd => $dir);
    is($run->{exit}, 0, $command) or diag($run->{err});
    return $run;
}

# Rows of decision values, and the largest of them.
sub decisions
{
    my ($model, $test) = @_;
    told("klr-predict -q --decision $test $model out");
    my @rows = map { [ split ' ' ] } split /\n/, get("$dir/out");
    my ($most) = sort { $b <=> $a } map { abs } map { @$_[ 1 .. $#$_ ] } @rows;
    return ($most, @rows);
}

# The lines of the vectors, and their number by class.
sub vectors
{
    my ($text) = @_;
    my ($counts, $lines) = $text =~ /^nr_sv (.*)\nSV\n(.*?)(?=^klr_format)/ms;
    return ($counts, split /\n/, $lines);
}

my @k = (2 => [ 1, -1 ], 4 => [ 1, 2, 5, 7 ]);
my %labels = @k;
for my $k (keys %labels) {
    put("$dir/train$k", clusters(seed => $k, labels => $labels{$k}, n => 80,
            d => 6, zeros => 0.4));
    put("$dir/test$k", clusters(seed => 10 + $k, labels => $labels{$k},
            n => 60, d => 7, zeros => 0.4)); # a feature that is new
}
# From feature 0, far apart; a class with one example.
(my $far = get("$dir/train4")) =~ s/\b(\d+):/($1 - 1) * 9001 . ':'/ge;
put("$dir/far", "9 9001:1 45005:-2\n$far");
(my $far_test = get("$dir/test4")) =~ s/\b(\d+):/($1 - 1) * 9001 . ':'/ge;
put("$dir/far_test", "$far_test" . "1 2147483647:3 \n1\n");

my $peer = peer('svm-predict');

sub compare
{
    my ($options, $train, $test, $counts) = @_;
    told("klr-train -q -t linear --keep-sv $options $train many");
    told("klr-train -q -t linear $options $train one");
    my ($many, $one) = map { get("$dir/$_") } qw(many one);
    my ($count, @vector) = vectors($one);
    is($count, $counts, "$options: a vector for each machine");
    is(scalar(grep { join('', sort grep { !/:/ } split) !~ /^0*1$/ } @vector),
        0, 'of coefficient 1 once, and else 0');
    isnt((vectors($many))[0], $count, '--keep-sv has more');
    my ($most, @expected) = decisions('many', $test);
    my ($same, @got) = decisions('one', $test);
    my $worst = 0;
    for my $i (0 .. $#expected) {
        for my $m (1 .. $#{ $expected[$i] }) {
            my $off = abs($got[$i][$m] - $expected[$i][$m]);
            $worst = $off if $off > $worst;
        }
    }
    is(scalar @got, scalar @expected, 'as many rows');
    cmp_ok($worst, '<=', 1e-12 * $most, 'the same decision values');
    is_deeply([ map { $_->[0] } @got ], [ map { $_->[0] } @expected ],
        'the same labels');
    by_definition($many, $test, @got) unless $options =~ /--scale/;
    return unless $peer && $one =~ /^svm_type c_svc/;
    my @b = $one =~ /^probA/m ? qw(-b 1) : ();
    run([ $peer, @b, "$dir/$test", "$dir/one", "$dir/theirs" ]);
    my @theirs = map { /^labels/ ? () : (split)[0] } split /\n/,
        get("$dir/theirs");
    is_deeply(\@theirs, [ map { $_->[0] } @got ], 'svm-predict answers alike');
}

# The first rows' decision values from the vectors of a file, summed up as
# docs/FORMAT.md has it.
sub by_definition
{
    my ($text, $test, @got) = @_;
    my ($counts, @vector) = vectors($text);
    my ($rho) = $text =~ /^rho (.*)/m;
    my $classes = $text =~ /^multiclass (?:ova|softmax)/m;
    my @count = split ' ', $counts;
    my @class = map { ($_) x $count[$_] } 0 .. $#count;
    my @pair;
    for my $a (0 .. $#count) {
        push @pair, map { [ $a, $_ ] } $a + 1 .. $#count;
    }
    my @test = map {
        +{ map { split /:/ } grep {/:/} split }
    } split /\n/, get("$dir/$test");
    my $off = 0;
    for my $i (0 .. 4) {
        my @f = map { -$_ } split ' ', $rho;
        for my $v (0 .. $#vector) {
            my @coef = grep { !/:/ } split ' ', $vector[$v];
            my $dot = 0;
            for (grep {/:/} split ' ', $vector[$v]) {
                my ($index, $value) = split /:/;
                $dot += $value * ($test[$i]{$index} // 0);
            }
            for my $m (0 .. $#f) {
                my ($a, $b) = $classes ? () : @{ $pair[$m] };
                $f[$m] += $dot * ($classes ? $coef[$m]
                    : $class[$v] == $a ? $coef[ $b - 1 ]
                    : $class[$v] == $b ? $coef[$a]
                    : 0);
            }
        }
        $off += abs($f[$_] - $got[$i][ $_ + 1 ]) for 0 .. $#f;
    }
    cmp_ok($off, '<=', 1e-10, 'as the format has it');
}

for my $options ('', '-a smo', '-a trirls', '--regularizer coef', '-s sklr',
    '-s svm', '-s svm -b 1', '-s kfd', '-s kfd -a greedy', '-s ivm',
    '-s lhalf', '--scale minmax', '--scale standard', '--no-bias')
{
    compare($options, 'train2', 'test2', '1 0');
}
for my $options ('', '-s svm', '-s sklr', '--multiclass ddag', '-s ivm',
    '-s lhalf --multiclass ddag', '-s kfd -a greedy --scale standard')
{
    compare($options, 'train4', 'test4', '3 2 1 0');
}
for my $options ('--multiclass ova', '--multiclass softmax',
    '-s svm --multiclass ova')
{
    compare($options, 'train4', 'test4', '1 1 1 1');
}
compare('', 'far', 'far_test', '4 3 2 1 0');

# ---- What keeps the vectors ----

told('klr-train -q -t linear --sv-indices train2 kept');
my ($counts) = vectors(get("$dir/kept"));
my @rows = split ' ', get("$dir/kept") =~ /^sv_indices (.*)/m ? $1 : '';
my $kept = 0;
$kept += $_ for split ' ', $counts;
is(scalar @rows, $kept, '--sv-indices keeps them');
told('klr-train -q --keep-sv -g 1 train2 kept');
told('klr-train -q -g 1 train2 plain');
is(get("$dir/kept"), get("$dir/plain"), 'other kernels have them in any case');
is(run([ qw(klr-train -v 3 --keep-sv train2) ], cwd => $dir)->{err},
    "klr-train: option --keep-sv: no model is written\n", 'without a model');

# ---- Features that cancel, or that no vector has ----

put("$dir/even", join '', map {"$_ 1:1 2:$_ 3:0\n"} (1, -1) x 20);
told('klr-train -q -s svm -t linear even even.model');
like(get("$dir/even.model"), qr/^1 1:0 2:\S+ $/m, 'a weight of 0 stays');
put("$dir/rows", join '', map {"1 1:1 2:1\n"} 1 .. 30);
is(run([qw(klr-predict rows even.model out)], cwd => $dir)->{err}, '',
    'its feature is known');
put("$dir/rows", "1 1:1\n1 1:1 4:2\n");
like(run([qw(klr-predict rows even.model out)], cwd => $dir)->{err},
    qr/rows with features that the model lacks: 1, the first in line 2: 4$/m,
    'another is not');

done_testing();
