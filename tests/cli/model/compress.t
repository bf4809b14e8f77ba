#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
#
# Smaller models from trained ones, --from: the same function where all support
# vectors are kept, the bound on decision values where they are not, the same
# bytes whatever the threads and the memory, what is taken over from the model,
# and what is refused.
use strict;
use warnings;
use lib 'tests/cli/lib';
use List::Util qw(max min sum);
use KLR;
use Judge;
use Test::More;

my $dir = scratch();
put("$dir/two", clusters(seed => 5, labels => [ 1, -1 ], n => 400, d => 3));
put("$dir/new", clusters(seed => 6, labels => [ 1, -1 ], n => 300, d => 3));
my $three = clusters(seed => 7, labels => [ 1, 2, 3, 1 ], n => 360, d => 3);
my @copies = (grep {/^1 /} split /^/, $three)[ 0 .. 9 ];
put("$dir/three", join '', (map {s/^1/3/r} @copies), $three);

# Train, and return the report.
sub train
{
    my @command = @_;
    my $run = run([ qw(klr-train -q --json), @command ], cwd => $dir);
    is($run->{exit}, 0, "@command: exit status") or diag $run->{err};
    return printed_json($run);
}

# Decision values of a model, of so many machines.
sub decide
{
    my ($data, $model, $machines) = @_;
    my $run = run([ qw(klr-predict -q --decision), $data, $model, 'out' ],
        cwd => $dir);
    is($run->{exit}, 0, "predict $data by $model") or diag $run->{err};
    my @rows = grep {/^-?\d+ /} split /\n/, get("$dir/out");
    return map { my @value = split; @value[ -$machines .. -1 ] } @rows;
}

# The largest difference between two lists.
sub apart
{
    my ($one, $other) = @_;
    return max map { abs($one->[$_] - $other->[$_]) } 0 .. $#$one;
}

sub vectors
{
    my ($model) = @_;
    my ($count) = get("$dir/$model") =~ /^total_sv (\d+)$/m;
    return $count;
}

# ---- all support vectors: the same function ----

for my $case (
    [ two => 1, qw(-s svm -c 5) ],
    [ two => 1, qw(-s svm -c 5 -b 1) ],
    [ two => 1, qw(-s kfd) ],
    [ two => 1, qw(-s sklr -c 5 --box 0 -e 1e-14) ],
    [ two => 1, qw(-s klr -c 1 -e 1e-14) ],
    [ two => 1, qw(-s svm -c 5 --scale standard) ],
    [ two => 1, qw(-s klr -c 1 -e 1e-14 --scale standard) ],
    [ two => 1, qw(-s klr -c 1 -e 1e-14 --positive -1 -w1 3 --no-bias) ],
    [ three => 3, qw(-s svm -c 5) ],
    [ three => 3, qw(-s kfd --multiclass ova) ],
    [ three => 3, qw(-s klr -c 1 -e 1e-14) ],
    [ three => 3, qw(-s klr -c 1 -e 1e-14 --multiclass ova) ],
    [ three => 3, qw(-s klr -c 1 -e 1e-14 --multiclass softmax) ],
    )
{
    my ($data, $machines, @options) = @$case;
    train('-g', 20, @options, $data, 'all');
    my $said = train(qw(--from all --basis 1000),
        (grep { /^1e/ || $_ eq '-e' } @options), $data, 'same');
    is($said->{projection}{distance_squared}, 0, '... and nothing is lost');
    is(vectors('same'), vectors('all'), '... nor a support vector')
        if $options[1] !~ /klr/;
    my ($before, $after) =
        map { [ decide('new', $_, $machines) ] } qw(all same);
    cmp_ok(apart($before, $after), '<', 1e-6, '... the same function');
    my ($scaling) = get("$dir/all") =~ /^(scaling_from .*)$/m;
    like(get("$dir/same"), qr/^\Q$scaling\E$/m, '... of the same scaling')
        if $scaling;
}

# ---- some of them: decision values change by |f - its projection| at most ----

for my $options ([qw(-s svm -c 5)], [qw(-s kfd -c 1)], [qw(-s lhalf -c 50)]) {
    train('-g', 20, @$options, 'two', 'all');
    my $said = train(qw(--from all --basis 40 two few))->{projection};
    is(vectors('few'), 40, '... so many support vectors');
    is($said->{vectors}, vectors('all'), '... of so many');
    cmp_ok($said->{distance_squared}, '<', 0.5 * $said->{norm_squared},
        '... that keep most');
    for my $data (qw(two new)) {
        my ($before, $after) = map { [ decide($data, $_, 1) ] } qw(all few);
        my $most = apart($before, $after);
        cmp_ok($most, '<=', sqrt($said->{distance_squared}) + 1e-9,
            '... within the bound');
        cmp_ok($most, '>', 0, '... but not the same');
        next if $data eq 'new';
        my $changed =
            grep { ($before->[$_] > 0) != ($after->[$_] > 0) } 0 .. $#$before;
        is($said->{changed}, $changed, '... changed answers are counted')
            if $options->[1] ne 'kfd';
        is($said->{compared}, 400, '... among all');
    }
}

# The coefficients of a model of three classes in the machine of two of them, by
# their features: of copies, the sum.
sub coefficients
{
    my ($model, $one, $other) = @_;
    my ($counts, $rows) =
        get("$dir/$model") =~ /^nr_sv ([\d ]+)\n.*?^SV\n(.*?)^klr/ms;
    my ($class, %sum) = (0);
    my @left = split ' ', $counts;
    for (split /\n/, $rows) {
        $class++ while $left[$class]-- == 0;
        my ($first, $second, @features) = split;
        my $row = $class + 1 == $one ? $other - 2 :
            $class + 1 == $other ? $one - 1 : next;
        my %value = map { split /:/ } @features;
        my $place = join ' ', map { 0 + ($value{$_} // 0) } 1 .. 3;
        $sum{$place} += ($first, $second)[$row];
    }
    return \%sum;
}

# |f|^2 of coefficients by the RBF kernel of gamma 20.
sub norm_squared
{
    my ($sum) = @_;
    my @row = map { [ $sum->{$_}, split ] } keys %$sum;
    my $norm = 0;
    for my $u (@row) {
        for my $v (@row) {
            my $square = sum map { ($u->[$_] - $v->[$_])**2 } 1 .. 3;
            $norm += $u->[0] * $v->[0] * exp(-20 * $square);
        }
    }
    return $norm;
}

# The part of |f|^2 that the machine of two classes loses.
sub lost
{
    my ($all, $few) = map { coefficients($_, @_) } qw(three.all three.few);
    my %rest = map { $_ => $all->{$_} - ($few->{$_} // 0) } keys %$all;
    return norm_squared(\%rest) / norm_squared($all);
}

# ---- pairs of classes: the bound of each, by its norm without the others ----

train(qw(-g 20 -s svm -c 5 -e 1e-10 three three.all));
my $worst =
    train(qw(--from three.all --basis 30 three three.few))->{projection};
my $share = $worst->{distance_squared} / $worst->{norm_squared};
my ($before, $after) = map { [ decide('new', $_, 3) ] }
    qw(three.all three.few);
my @pairs = ([ 1, 2 ], [ 1, 3 ], [ 2, 3 ]);
for my $m (0 .. 2) {
    my ($one, $other) = @{ $pairs[$m] };
    put("$dir/pair", join '', grep {/^[$one$other] /} split /^/,
        get("$dir/three"));
    train(qw(-g 20 -s svm -c 5 -e 1e-10), 'pair', 'all');
    my $alone = train(qw(--from all --basis 30 pair few))->{projection};
    my $most = max map { abs($before->[ 3 * $_ + $m ] - $after->[ 3 * $_ + $m ]) }
        0 .. $#$before / 3;
    cmp_ok($most, '<=', sqrt($share * $alone->{norm_squared}) + 1e-6,
        "$one and $other: within the bound");
    cmp_ok($most, '>', 0, '... but not the same');
}

my @lost = map { lost(@$_) } @pairs;
cmp_ok(abs($share / max(@lost) - 1), '<', 1e-6,
    'what is told is of the pair that loses most');
cmp_ok($share, '>', 1.1 * min(@lost), '... of pairs that differ');

# ---- klr is trained again ----

train(qw(-g 2 -c 5 -w1 3 -e 1e-9 two all));
my $few = train(qw(--from all --basis 40 two few));
is(vectors('few'), 40, 'klr: so many points');
is($few->{c}, 5, '... the C of the model');
cmp_ok($few->{gap}, '<', 1e-6, '... its restricted gap');
cmp_ok($few->{basis}{full_gap}, '>', 0, '... and that to all points');
like(get("$dir/few"), qr/^options .*\bw1=3 basis=40$/m,
    '... and its weights are told');
my $exact = train(qw(-g 2 -c 5 -w1 3 -e 1e-9 two again));
my $above = 1 - $exact->{objective} / $few->{objective};
cmp_ok($above, '<=', $few->{basis}{full_gap} + 1e-6, '... the bound holds');
is(train(qw(--from all --basis 40 -c 7 two few))->{c}, 7, '... or another C');
my $path = run([ qw(klr-train --from all --basis 40 -c), '1,2', 'two', 'few' ],
    cwd => $dir);
is($path->{exit}, 0, 'several C');
ok(-s "$dir/few.1" && -s "$dir/few.2", '... give several models');

train(qw(-g 2 -c 5 --multiclass softmax three soft));
my $softer = train(qw(--from soft --basis 40 three few));
my $softest = train(qw(-g 2 -c 5 --multiclass softmax three again));
my $over = 1 - $softest->{objective} / $softer->{objective};
cmp_ok($softer->{gap}, '<', 1e-6, 'a softmax: its restricted gap');
cmp_ok($over, '<=', $softer->{basis}{full_gap} + 1e-6, '... the bound holds');

# By the loss of the model, with its lambda and box.
train(qw(-g 2 -s sklr -c 5 -l 2 --box 0.01 --link consistent two sparse));
my $sparser = train(qw(--from sparse --basis 40 two few));
is(vectors('few'), 40, 'sklr: so many points');
is($sparser->{lambda}, 2, '... the lambda of the model');
like(get("$dir/few"), qr/^box 0\.01$/m, '... and its box');
my $sparsest = train(qw(-g 2 -s sklr -c 5 -l 2 --box 0.01 --keep-bounded),
    qw(-e 1e-9 two again));
my $beyond = 1 - $sparsest->{objective} / $sparser->{objective};
cmp_ok($sparser->{gap}, '<', 1e-6, '... its restricted gap');
cmp_ok($beyond, '<=', $sparser->{basis}{full_gap} + 1e-6, '... the bound holds');
is(train(qw(--from sparse --basis 40 -l 1 two few))->{lambda}, 1,
    '... or another lambda');

# ---- a model of LIBSVM: no more than its format has ----

train(qw(-g 2 -s svm -c 5 two all));
put("$dir/lib", get("$dir/all") =~ s/^klr_format.*//msr);
train(qw(--from all --basis 30 two ours));
train(qw(--from lib --basis 30 two theirs));
is(get("$dir/theirs"), get("$dir/ours") =~ s/^klr_format.*//msr,
    'a model without our section stays one');
unlike(get("$dir/ours"), qr/^gap /m, 'a gap is none of the smaller model');
like(get("$dir/ours"), qr/^options .*\bbasis=30$/m, '... which says that it is');

# ---- the same bytes ----

put("$dir/many", clusters(seed => 3, labels => [ 1, -1 ], n => 2500, d => 4));
for my $model (qw(klr svm)) {
    train(qw(-g 1 -c 3 -s), $model, 'many', 'all');
    my @command = (qw(--from all --basis 150 many));
    train(@command, "m.$_->[0]", @{ $_->[1] })
        for [ 0 => [qw(-j 1)] ], [ 1 => [qw(-j 2)] ], [ 2 => [qw(-j 8)] ],
        [ 3 => [qw(-j 2 -m 1)] ];
    is(get("$dir/m.$_"), get("$dir/m.0"), "$model: the same bytes")
        for 1 .. 3;
}

# ---- a choice that is cut leaves the function as it is ----

for my $model (qw(klr svm)) {
    train(qw(-g 1 -c 3 -s), $model, 'many', 'all');
    my $said = train(qw(--from all --basis 150 --time-limit 1e-9 many cut));
    is($said->{status}, 'time_limit', "$model: cut");
    is(apart([ decide('many', 'cut', 1) ], [ decide('many', 'all', 1) ]), 0,
        '... the same function');
}

# ---- refusals ----

sub refused
{
    my ($exit, $message, @options) = @_;
    my $run = run([ 'klr-train', @options, 'no' ], cwd => $dir);
    is($run->{exit}, $exit, "@options: refused");
    like($run->{err}, qr/^klr-train: $message\n\z/, '... by one line');
    ok(!-e "$dir/no", '... without a model');
}

put("$dir/weights", "2\n" x 400);
train(@$_) for [qw(-c 5 two klr)], [qw(-s svm -c 5 two svm)],
    [qw(-s svm -t linear two linear)], [qw(-s svm -t sigmoid two sigmoid)],
    [qw(--regularizer coef two coef)],
    [qw(--weights weights two weighted)],
    [qw(-t polynomial -r 1 two poly)];
my $points = 'option --from: --basis must say how many points there are to be';
my $again = 'only klr and sklr are trained again, other models \(--from\) are '
    . 'projected as they are';
my $choice = 'option --from: points are chosen by the coefficients of the '
    . 'model alone, not by';
my $own = 'exclude each other: the model has its own';
refused(2, @$_)
    for [ $points, qw(--from klr two) ],
    [ $points, qw(--from klr --basis auto two) ],
    [ 'option --model: the model \(--from\) has svm, not klr',
        qw(--from svm --basis 9 -s klr two) ],
    [ 'option --kernel: the model \(--from\) has polynomial, not rbf',
        qw(--from poly --basis 9 -t rbf two) ],
    [ 'option --gamma: the model \(--from\) has 0\.3\d*, not 5',
        qw(--from klr --basis 9 -g 5 two) ],
    [ "option --cost: $again", qw(--from svm --basis 9 -c 1 two) ],
    [ "option -w: $again", qw(--from svm --basis 9 -w1 2 two) ],
    [ "option --weights: $again",
        qw(--from svm --basis 9 --weights weights two) ],
    [ "option --sv-indices: $again", qw(--from svm --basis 9 --sv-indices two) ],
    [ "option --validate: $again", qw(--from svm --basis 9 -v 3 two) ],
    [ "$choice validation", qw(--from klr --basis 9 -v 3 two) ],
    [ "$choice --basis-choice",
        qw(--from klr --basis 9 --basis-choice uniform two) ],
    [ "--from and --auto $own", qw(--from klr --basis 9 --auto two) ],
    [ "--from and --scale $own", qw(--from klr --basis 9 --scale minmax two) ],
    [ "--from and --check-kernel $own",
        qw(--from klr --basis 9 --check-kernel two) ],
    [ 'option --from: a linear model is one vector already',
        qw(--from linear --basis 9 two) ],
    [ 'option --from: the kernel of the model must be positive semidefinite',
        qw(--from sigmoid --basis 9 two) ],
    [ 'option --from: klr with the regularizer coef is not trained on a basis',
        qw(--from coef --basis 9 two) ],
    [ 'option --from: the model was trained with weights of examples, and is '
        . 'to be again: --weights', qw(--from weighted --basis 9 two) ],
    [ 'training set and model cannot both come from stdin|model and training '
        . 'set cannot both come from stdin', qw(--from - --basis 9 -) ];
refused(1, @$_)
    for [ 'new: this is not the training set of the model \(--from\), by '
        . 'which klr is trained again: support vector \d+ is none of its '
        . 'examples', qw(--from klr --basis 9 new) ],
    [ 'gone: cannot open: .*', qw(--from gone --basis 9 two) ],
    [ 'two:1:1: unknown key .*', qw(--from two --basis 9 two) ];
my $same = run([qw(klr-train --from klr --basis 9 two klr)], cwd => $dir);
like($same->{err}, qr/^klr-train: klr: the same file as klr, and would be replaced$/,
    'the model is not replaced by its own');

done_testing();
