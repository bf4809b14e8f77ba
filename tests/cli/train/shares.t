# SPDX-License-Identifier: BSD-3-Clause
#
# Where there is nothing to tell classes apart by, probabilities are the shares
# of the classes, and a warning says so where a user would wonder.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use KLR;

my $dir = scratch();

sub train { return run([ 'klr-train', '-q', @_ ], cwd => $dir) }

# Probabilities of the last class of each row of `data`, by the model m.
sub last_class
{
    my ($data) = @_;
    my $run = run([ 'klr-predict', '-q', $data, 'm' ], cwd => $dir);
    is($run->{exit}, 0, "$data: predictions") or diag $run->{err};
    my @lines = split /\n/, $run->{out};
    shift @lines;
    return map { (split)[-1] } @lines;
}

sub all_are
{
    my ($want, $name, @p) = @_;
    my @off = grep { abs($_ - $want) > 1e-9 } @p;
    ok(@p && !@off, $name) or diag "@off";
    return;
}

# ---- A part that has drawn as many of both classes ----

put("$dir/drawn", join '', map {"$_\n"} '0 1:-.318', '0 1:-.944', '0 1:.113',
    '0 1:.510', '0 1:.760', '0 1:.796', '1 1:-.710', '1 1:.807');
for my $options ('-g .001', '-s svm -g .001', '-s sklr -t 0 -c 1000',
    '-s kfd -c .1', '-s kfd -t 0 --link gaussian')
{
    train((split ' ', "--link platt --calibrate holdout $options"), 'drawn',
        'm');
    all_are(3 / 4, "$options: the shares of all examples",
        last_class('drawn'));
}

# ---- No discriminant ----

# Of the examples of class 1, which are in the data like those of class 0.
put("$dir/same", join '', map {"0 1:$_\n0 1:$_\n1 1:$_\n"} 1, 2, 4, 7);
my $warning = 'klr-train: warning: ';
my $reason = 'the kernel does not tell their means apart';
for my $options ('', '-a greedy', '--regularizer coef', '--link platt',
    '-t linear --threshold svm')
{
    my $run = train('-s', 'kfd', (split ' ', $options), 'same', 'm');
    is($run->{exit}, 0, "kfd $options: no end of the run");
    like($run->{err}, qr/^\Q$warning\Eno discriminant for class 1 and class 0,/,
        'the warning names the classes');
    all_are(2 / 3, 'and the shares answer', last_class('same'));
}
like(train(qw(-s kfd -c 1e9 -g 1e-3 same m))->{err},
    qr/: C is so large that .*; choose a smaller -c$/, 'a large C is the reason');
put("$dir/three", get("$dir/same") . join '', map {"2 1:-$_\n2 2:$_\n"} 1 .. 4);
for my $options ('--multiclass ovo', '--multiclass ddag', '--multiclass ova') {
    my $run = train('-s', 'kfd', (split ' ', $options), 'three', 'm');
    is($run->{exit}, 0, "three classes, $options");
    like($run->{err}, $options =~ /ova/ ? qr/\A\z/
        : qr/\A\Q$warning\Eno discriminant for class 0 and class 1, [^\n]*\n\z/,
        'the pair alone');
    my @p = last_class('three');
    cmp_ok((sort { $a <=> $b } @p[ 12 .. 19 ])[0], '>', 0.5,
        'others are as they were');
}
# What comes of a pair does not depend on the pairs before it: trained alone, it
# leaves the same line in a log, but for the kernel entries that it computes.
{
    put("$dir/last", get("$dir/three") =~ s/^(\d)/($1 + 1) % 3/gemr);
    my $line = sub { get("$dir/$_[0]") =~ s/"numbers": \[\d+, \d+, \K\d+//gr };
    train(qw(-s kfd -j 1 --log whole last m));
    my $parts = '';
    for my $pair (1 .. 3) {
        train(qw(-s kfd -j 1 --part), "alone$pair", '--only-pair', $pair, 'last');
        $parts .= $line->("alone$pair") =~ s/.*\n//r;
    }
    is($line->('whole') =~ s/.*\n//r, $parts, 'pairs in a row, and alone');
}
{
    put("$dir/flat", "0 1:1\n0 1:1\n1 1:1\n" x 4);
    my $run = train(split ' ', '-s kfd -v 2 -c 1,10 flat m');
    is($run->{exit}, 0, '-v: no end of the run');
    like($run->{err},
        qr/^${warning}C = $_->[0]: fold $_->[1]: no discriminant /m,
        "-v: C = $_->[0], fold $_->[1]") for [ 1, 1 ], [ 10, 2 ];
    like($run->{out}, qr/^Log loss = 0\.6\d+$/m, 'a log loss of the shares');
}

# A part that is held out for the link, where both of the fold's classes have
# means.
put("$dir/part", <<'END');
0 1:1
1 1:1 2:1
2 3:1
0 1:1
1 2:1
2 2:1
0 2:1 3:1
1
2 1:1 3:1
0 1:1
1 1:1 2:1 3:1
2 2:1 3:1
0
1 1:1
2 1:1
0
1
2
END
{
    my $run = train(split ' ', '-s kfd -v 3 -c 0.1,1 part m');
    is($run->{exit}, 0, 'a part without a discriminant');
    like($run->{err}, qr/^${warning}C = 1: fold 1: no discriminant for class 0 /m,
        'which the warning names');
}
put("$dir/huge", join '', map { $_ % 2 . " 1:" . (1e9 + $_) . "\n" } 1 .. 12);
like(train(qw(-s kfd -t linear huge m))->{err},
    qr/no discriminant .* scale the features$/m, 'digits that are lost');

# ---- No point among the examples ----

# The only point is in the first fold, without which there are 5 rows of class 0
# and 3 of class 1.
my $pointless = qr/none of the points \(--points\) is among the examples of/;
put("$dir/point", "1\n");
put("$dir/folds", join '', map {"$_\n"} 1, 1, (2) x 8);
put("$dir/rows", join '', map { (0, 1, 0, 0, 1, 0, 1, 0, 1, 0)[$_] . ' 1:'
        . sqrt($_ + 1) . "\n" } 0 .. 9);
for my $case ([ '-s ivm', 5 / 8 ], [ '-s klr', 5 / 8 ], [ '-s sklr', 5 / 8 ],
    [ '-s kfd -a greedy', 5 / 8 ], [ '-s kfd -a greedy --link platt', 5 / 8 ],
    [ '-s ivm --no-bias', 1 / 2 ])
{
    my ($options, $share) = @$case;
    my $run = train((split ' ', $options), '--points', 'point', '--folds-file',
        'folds', '--cv-out', 'out', 'rows', 'm');
    is($run->{exit}, 0, "$options: a fold without the point");
    like($run->{err}, qr/^${warning}fold 1: $pointless class 1 and class 0, .*shares$/m,
        'which a warning names');
    my @p = map { (split)[-1] } grep {/^1 [01] /} split /\n/, get("$dir/out");
    all_are($share, 'and the shares answer', @p);
}
# Of three classes there are 3 of 8, 3 and 2 without the first fold.
put("$dir/rows", join '', map { (0, 0, 1, 2, 0, 0, 0, 1, 1, 2)[$_] . " 1:$_\n" }
    0 .. 9);
for my $way (qw(softmax ova ovo ddag)) {
    my $run = train('--multiclass', $way, qw(--points point --folds-file folds
        --cv-out out rows m));
    like($run->{err}, qr/^${warning}fold 1: $pointless class 0 and /m,
        "$way: the warning");
    my @p = map { (split)[-1] } grep {/^1 [012] /} split /\n/, get("$dir/out");
    all_are(2 / 8, "$way: the shares of three classes", @p);
}
put("$dir/rows", join '', map {"2 1:$_\n1 1:" . ($_ + 9) . "\n0 2:$_\n"} 1 .. 6);
for my $options ('-s ivm', '-s klr', '-s kfd -a greedy') {
    my $run = train((split ' ', $options), '--points', 'point', 'rows', 'm');
    like("$run->{exit}$run->{err}", qr/\A0$warning$pointless class 0 and class 1, /,
        "$options: a pair of classes without the point");
}

# ---- A class of one example ----

put("$dir/single", join '', map { ($_ == 7 ? 1 : 0) . " 1:$_ 2:"
    . $_ * $_ % 11 . "\n" } 1 .. 16);
for my $options ('-s svm -b 1', '-s sklr', '-s kfd', '--link platt')
{
    my $single = qr/^${warning}class 1 has one example, [^\n]* constant$/m;
    my $run = train((split ' ', $options), 'single', 'm');
    like($run->{err}, $single, "$options: a warning");
    all_are(15 / 16, 'the shares', last_class('single'));
    like(train((split ' ', $options), '-v', 4, 'single')->{err}, $single,
        'a warning with folds');
}
unlike(train($_ ? (split ' ') : (), 'single', 'm')->{err}, qr/one example/,
    "klr $_: none")
    for '', '--link checked', '--no-bias --link platt';

# ---- Constants of several levels ----

put("$dir/bare", "0\n" x 15 . "1\n");
for my $options ('-s sklr --link platt', '-s sklr', '-s svm -b 1', '-s kfd') {
    train((split ' ', $options), 'bare', 'm');
    all_are(15 / 16, "$options: no features", last_class('bare'));
}

# A model without support vectors answers one thing to all, whatever the slope
# of another is.
srand 5;
my ($empty, @slopes) = (0);
for my $set (1 .. 12) {
    put("$dir/sliver", join '', map { my $y = $_ % 9 ? 0 : 1;
        sprintf "%d 1:%.3f 2:%.3f\n", $y, 4 * rand() - 2 + 4 * $y, 4 * rand() - 2
    } 1 .. 28);
    for my $calibrate ('cv', 'holdout') {
        train(qw(-s lhalf -g 0.5 -c 0.7 --link platt --calibrate), $calibrate,
            'sliver', 'm');
        my $model = get("$dir/m");
        next if $model !~ /^total_sv 0$/m;
        $empty++;
        push @slopes, $1 if $model =~ /^probA (.*)$/m && $1 != 0;
    }
}
ok($empty > 5 && !@slopes, "of $empty empty models none has a slope")
    or diag "@slopes";

# ---- a fold, or a part of it, without any example of a pair ----

put("$dir/single", "1 1:1\n2 1:2\n3 1:3\n");
put("$dir/lone", "1 1:1\n1 1:4\n2 1:2\n");
for my $solver ('-s svm', '-s sklr -a smo1', '-s klr -a smo1', '-s klr',
    '-s klr --basis 2', '-s ivm', '-s lhalf', '-s svm --regularizer coef')
{
    my $pairs = $solver =~ /basis/ ? 'none' : 'platt';
    for my $data (qw(single lone)) {
        my $run = run([ qw(klr-train -q -v 2 --no-bias --json --link), $pairs,
                split(' ', $solver), $data ], cwd => $dir);
        is($run->{exit}, 0, "$data: $solver without a bias") or diag $run->{err};
        like($run->{out}, qr/"accuracy": [01]/, '... has an answer for all');
    }
}

done_testing();
