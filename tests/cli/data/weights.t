# SPDX-License-Identifier: BSD-3-Clause
#
# Weights of examples and of classes, and what becomes of probabilities: an
# example of weight 2 is as good as two of them; priors shift the log-odds.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use List::Util qw(max sum);
use KLR;
use Judge;

my $dir = scratch();
my @heart = grep { $_ } split /^/, get('heart_scale');
@heart = @heart[ 0 .. 119 ];
my @weight = map { 1 + $_ * 7 % 11 % 3 } 0 .. $#heart;
my @class = map { (split)[0] + 0 } @heart;
my $negative = grep { $_ < 0 } @class;
put("$dir/heart", join '', @heart);
put("$dir/weights", join('', "# weights\n\n", map {" $_.0 \r\n"} @weight));
put("$dir/double", join '', map { $heart[$_] x $weight[$_] } 0 .. $#heart);
put("$dir/ones", "1\n" x @heart);
put("$dir/sides", join '', map { $_ > 0 ? "0.75\n" : "1.5\n" } @class);
put("$dir/three", clusters(seed => 7, labels => [ 4, -2, 7 ], n => 90, d => 3,
        zeros => 0));

sub train { return run([ 'klr-train', '-q', map { split } @_ ], cwd => $dir) }

# The model of these options, or a failed test.
sub model
{
    my ($options) = @_;
    my $run = train("$options model");
    my $said = $run->{err} =~ s/^.* has one example, .*\n//r
        =~ s/^.*: decision values are lost in rounding errors: .*\n//r;
    is("$run->{exit}$said", '0', "$options: says nothing else") or return '';
    return of_any_origin(get("$dir/model"));
}

sub values_of
{
    my ($model, $option) = @_;
    put("$dir/model", $model);
    my $run = run([ 'klr-predict', '-q', $option ? ($option) : (), 'heart',
        'model',
            'out' ], cwd => $dir);
    is("$run->{exit}$run->{err}", '0', 'predictions') or return [];
    return [ map { [ (split)[ 1 .. 2 ] ] } grep { !/^labels/ } split /\n/,
        get("$dir/out") ];
}

sub decisions { return [ map { $_->[0] } @{ values_of($_[0], '--decision') } ] }

sub log_odds { return [ map { log $_->[0] / $_->[1] } @{ values_of($_[0]) } ] }

sub apart
{
    my ($a, $b) = @_;
    return 'not as many' unless @$a == @heart && @$b == @heart;
    return max map { abs $a->[$_] - $b->[$_] } 0 .. $#$a;
}

# ---- Examples ----

# Coefficients of equal examples share a penalty beta'K beta, or are not needed
# twice.
for my $case ([ '-s klr -e 1e-11', 1e-5 ], [ '-s klr -a smo -e 1e-7', 1e-6 ],
    [ '-s klr -a smo1 -e 1e-7', 1e-6 ], [ '-a trirls -e 1e-10 --max-iter 1000',
        1e-4 ],
    [ '-s klr --no-bias -e 1e-11', 1e-5 ],
    [ '-s klr -a smo -t sigmoid -r -1 -e 1e-7', 1e-6 ],
    [ '-s sklr -l 2 --box 1e-9 -e 1e-10', 1e-4 ],
    [ '-s sklr -a smo -l 2 --box 1e-9 -e 1e-7', 1e-4 ],
    [ '-s sklr -a smo1 -l 2 --box 1e-9 -e 1e-7', 1e-4 ],
    [ '-s svm -e 1e-8', 1e-6 ], [ '-s svm -t linear -e 1e-8', 1e-6 ],
    [ '-s kfd --calibrate training', 1e-6 ],
    [ '-s kfd --calibrate training --threshold svm', 1e-6 ],
    [ '-s kfd -a greedy --candidates 0 --max-basis 6 --calibrate training',
        1e-6 ],
    [ '-s kfd -a greedy --candidates 0 --max-basis 6 --calibrate training'
        . ' --selection infeasibility --regularizer kernel', 1e-6 ],
    [ '-s ivm --candidates 0 --max-basis 6', 1e-6 ])
{
    my ($options, $bound) = @$case;
    $options .= ' -g 0.1 -c 3';
    my $weighted = model("$options --weights weights heart");
    my $doubled = model("$options double");
    my $plain = model("$options heart");
    my $same = apart(decisions($weighted), decisions($doubled));
    my $other = apart(decisions($weighted), decisions($plain));
    cmp_ok($same, '<', $bound, "$options: weight 2 is twice the example");
    cmp_ok($other, '>', 30 * $bound, "$options: and not once");
}

# Fits of links count alike, but for the degrees of freedom of a gaussian one.
for my $case ([ '-s svm -b 1', 2e-4 ], [ '-s kfd', 0.5 ],
    [ '-s sklr --box 1e-9 -l 1', 2e-4 ])
{
    my ($options, $bound) = @$case;
    my $all = "$options --calibrate training -g 0.1 -c 3 -e 1e-10";
    cmp_ok(apart(log_odds(model("$all --weights weights heart")),
            log_odds(model("$all double"))), '<', $bound, "$all: the link");
}

# Without validation of other weights than 1 and those of classes, byte by byte.
my @systems = ('-s klr', '-a smo', '-a smo1', '-a trirls', '--regularizer coef',
    '--regularizer coef -a cg', '-s sklr', '-s sklr -a smo', '-s svm -b 1',
    '-s kfd', '-s kfd --regularizer coef', '-s kfd -a greedy',
    '-s ivm', '-s lhalf');
for my $options (@systems)
{
    is(model("$options --weights ones heart"), model("$options heart"),
        "$options: weights of 1");
    my $sides = model("$options -w1 0.75 -w-1 1.5 heart");
    is(model("$options --weights sides heart"), $sides,
        "$options: the weights of classes");
    isnt($sides, model("$options heart"), "$options: they matter");
}

# All classes at once.
{
    my @three = split /^/, get("$dir/three");
    put("$dir/threeweights", join '', map {"$_\n"} @weight[ 0 .. $#three ]);
    put("$dir/threedouble", join '',
        map { $three[$_] x $weight[$_] } 0 .. $#three);
    my @p;
    for my $options ('--weights threeweights three', 'threedouble', 'three',
        '-w4 4 -w7 0.5 three', '-w4 4 -w7 0.5 --prior-correct three')
    {
        model("--multiclass softmax -e 1e-11 $options");
        run([ qw(klr-predict -q three model out) ], cwd => $dir);
        push @p, [ map { [ (split)[ 1 .. 3 ] ] } grep { !/^labels/ } split /\n/,
            get("$dir/out") ];
    }
    my $apart = sub { my ($a, $b) = @_;
        max map { my $i = $_;
            map { abs $p[$a][$i][$_] - $p[$b][$i][$_] } 0 .. 2 } 0 .. $#three };
    cmp_ok($apart->(0, 1), '<', 1e-5, 'softmax: weight 2 is twice the example');
    cmp_ok($apart->(0, 2), '>', 1e-3, 'softmax: and not once');
    my $most = 0; # labels are -2 4 7
    for my $i (0 .. $#three) {
        my @odds = map { $p[3][$i][$_] / (1, 4, 0.5)[$_] } 0 .. 2;
        $most = max $most,
            map { abs $odds[$_] / sum(@odds) - $p[4][$i][$_] } 0 .. 2;
    }
    cmp_ok($most, '<', 1e-7, 'softmax: posteriors without the weights');
}

# Validation takes each example's weight to the folds it trains.
{
    my @fold = map { $_ % 3 } 0 .. $#heart;
    put("$dir/folds", join '', map {"$_\n"} @fold);
    train('--folds-file folds --cv-out cv --weights weights -e 1e-11 heart');
    my (undef, @rows) = map { [ split ' ' ] } split /\n/, get("$dir/cv");
    my ($most, $seen) = (0, 0);
    for my $f (0 .. 2) {
        my @kept = grep { $fold[$_] != $f } 0 .. $#fold;
        put("$dir/kept", join '', @heart[@kept]);
        put("$dir/keptweights", join '', map {"$weight[$_]\n"} @kept);
        my $held = values_of(model('--weights keptweights -e 1e-11 kept'));
        for my $i (grep { $fold[$_] == $f } 0 .. $#fold) {
            $most = max $most, abs $rows[$i][3] - $held->[$i][0];
            $seen++;
        }
    }
    is($seen, scalar @heart, 'validation: every example');
    cmp_ok($most, '<', 1e-5, 'validation: as trained with their weights');
}

# ---- Classes ----

{
    my $n = @heart;
    my ($a, $b) = map { $n / 2 / $_ } $n - $negative, $negative;
    my $numbers = sub { sprintf '-w1 %.17g -w-1 %.17g', @_ };
    is(model('--balance heart'), model($numbers->($a, $b) . ' heart'),
        'balance: n / (k n_c)');
    is(model('--balance -w1 4 heart'), model($numbers->(4 * $a, $b) . ' heart'),
        'balance: times -w');
    my $json = printed_json(train("-v 5 --json --balance heart"));
    my $same = printed_json(train("-v 5 --json " . $numbers->($a, $b)
        . " heart"));
    is($json->{log_loss}, $same->{log_loss}, 'balance: in validation');
    my %size;
    $size{ (split)[0] + 0 }++ for split /^/, get("$dir/three");
    my $three = join ' ', map { sprintf '-w%s %.17g', $_, 90 / 3 / $size{$_} }
        keys %size;
    is(model('--balance three'), model("$three three"),
        'balance: three classes');
}

# ---- Log-odds ----

for my $options ('-s klr', '-s sklr --link shrunk -l 1', '-s sklr', '-s ivm',
    '-s kfd', '-s svm -b 1', '-s klr --weights weights')
{
    my $all = "$options -w1 3 -w-1 0.5 heart";
    my ($with, $without) = map { log_odds(model("$_ $all")) }
        '--prior-correct', '';
    my @shift = map { $without->[$_] - $with->[$_] } 0 .. $#$with;
    cmp_ok(max(map { abs($_ - log 6) } @shift), '<', 1e-6,
        "$options: log(3 / 0.5) less");
}
{
    my $plain = model('heart');
    is(model('--prior-correct heart'), $plain, 'nothing to correct');
    my $all = '-s kfd --link gaussian --calibrate training heart';
    my $share = 1 - $negative / @heart;
    my $given = log_odds(model("--prior $share $all"));
    cmp_ok(apart($given, log_odds(model($all))), '<', 1e-6,
        'a prior of the share is the default');
    my $half = log_odds(model("--prior 0.5 $all"));
    my @shift = map { $given->[$_] - $half->[$_] } 0 .. $#$half;
    cmp_ok(max(map { abs($_ - log($share / (1 - $share))) } @shift), '<', 1e-6,
        'another one shifts the log-odds');
    is_deeply(log_odds(model("--prior 0.5 -w1 3 -w-1 3 $all")),
        log_odds(model("--prior 0.5 --weights ones -w1 3 -w-1 3 $all")),
        'a prior beside weights');
    my ($of) = model('-w1 4 -w-1 2 --prior-correct heart') =~ /^probB (.*)$/m;
    cmp_ok(abs($of - log 2), '<', 1e-15, 'in the model it is probB');
    my ($pairs) = model('-w4 4 -w7 2 --prior-correct three') =~ /^probB (.*)$/m;
    is(join(' ', map { sprintf '%.6f', $_ } split ' ', $pairs),
        join(' ', map { sprintf '%.6f', log $_ } 1 / 4, 1 / 2, 2),
        'each pair has its own');
}

# Of the last class, none is among the fifth that is held out.
{
    my $fifths = join '', map { ($_ % 2 ? 4 : 7) . " 1:$_ 2:1\n" } 0 .. 40;
    put("$dir/fifths", $fifths . "9 1:5 2:5\n");
    for my $link (qw(fitted platt checked)) {
        my ($pairs) = model("--calibrate holdout --link $link -w4 4 -w7 2 "
            . '--prior-correct fifths') =~ /^probB (.*)$/m;
        my @of = split ' ', $pairs;
        # f itself, or the shares of 20 and 21 examples against one.
        is(join(' ', map { sprintf '%.6f', $_ } @of[ 1, 2 ]),
            join(' ', map { sprintf '%.6f', log $_ }
                $link eq 'checked' ? (4, 2) : (1 / 20, 1 / 21)),
            "$link: pairs of which one side is not held out, too");
    }
}

# Weights whose quotient underflows leave numbers in the model.
is(scalar @{ values_of(model("-w1 1e-200 -w-1 1e200 $_ heart")) }, 120,
    "$_: 1 to 1e400")
    for '-s kfd -a greedy --calibrate training', '-s svm -b 1';

# ---- Refusals ----

put("$dir/short", "1\n2\n");
put("$dir/zero", "1\n0.5\n0 # none\n");
put("$dir/minus", "1\n -2\n");
put("$dir/word", "1\n2 # fine\n\n  two\n");
put("$dir/two", "1\n2 3\n");
put("$dir/huge", "1e999\n");
put("$dir/empty", "# none\n");
put("$dir/most", "1e308\n" x 120);
put("$dir/least", "1e-200\n" x 120);
for my $case (
    [ 1, 'short: weights of 2 examples, but the data have 120',
        '--weights short heart' ],
    [ 1, 'empty: weights of 0 examples, but the data have 120',
        '--weights empty heart' ],
    [ 1, "zero:3:1: '0' is not a number above 0", '--weights zero heart' ],
    [ 1, "minus:2:2: '-2' is not a number above 0", '--weights minus heart' ],
    [ 1, "word:4:3: 'two' is not a number above 0", '--weights word heart' ],
    [ 1, "two:2:1: '2 3' is not a number above 0", '--weights two heart' ],
    [ 1, "huge:1:1: '1e999' is not a number above 0", '--weights huge heart' ],
    [ 1, 'none: cannot open: No such file or directory',
        '--weights none heart' ],
    # what is no C to work with: some solvers did not end
    [ 2, 'option -c: C of example 1, 0 with its weights, is out of range',
        '--weights least -c 1e-200 -s lhalf --max-iter 3 heart' ],
    [ 2, 'option -c: C of example 1, 9.99989e-321 with its weights, is out of'
        . ' range', '-c 1e-320 -a smo heart' ],
    [ 2, 'option -c: C of example 1, inf with its weights, is out of range',
        '-c 1,1e300 -w1 1e100 -w-1 1e100 heart' ],
    [ 2, 'option -c: C of example 1, 1e+308 with its weights, is out of range',
        '-c 1e308 heart' ],
    [ 2, 'option --weights: the weight of example 1, 1e+308 in all, is out of '
        . 'range', '--weights most heart' ],
    [ 2, 'option -w: the weight of example 1, 1e+308 in all, is out of range',
        '-c 1e-200 -w1 1e308 heart' ],
    [ 2, 'weights and training set cannot both come from stdin',
        '--weights - - m' ],
    [ 2, 'weights and folds cannot both come from stdin',
        '--weights - --folds-file - heart' ],
    [ 2, 'option --prior: only the link gaussian has one, not sigma',
        '--prior 0.5 heart' ],
    [ 2, 'option --prior: must be below 1, got 1', '-s kfd --prior 1 heart' ],
    [ 2, 'option --prior: must be greater than 0, got 0',
        '-s kfd --prior 0 heart' ],
    [ 2, 'option --prior: the data have 3 classes, not two',
        '-s kfd --prior 0.5 three' ],
    [ 2, '--prior and --prior-correct exclude each other: a prior that is given'
        . ' has no weights in it', '-s kfd --prior 0.5 --prior-correct heart' ],
    [ 2, 'option --prior-correct: the link none has no constant to correct',
        '-s svm --prior-correct heart' ],
    [ 2, 'option --prior-correct: the link consistent has no constant to'
        . ' correct',
        '-s sklr --link consistent --prior-correct heart' ],
    [ 2, 'option --prior-correct: a rest of several classes has no weight;'
        . ' ovo, ddag and softmax have no rest',
            '--multiclass ova --prior-correct three' ],
)
{
    my ($exit, $message, $arguments) = @$case;
    my $run = train($arguments);
    $run->{err} =~ s/^klr-train: warning: .*at C = .*\n//;
    is("$run->{exit} $run->{out}$run->{err}", "$exit klr-train: $message\n",
        $message);
}

done_testing();
