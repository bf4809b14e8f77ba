#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
#
# klr-train: its defaults, what it prints where, how it ends early.
use strict;
use warnings;
use lib 'tests/cli/lib';
use KLR;
use Judge qw(clusters mixed mixed_verdict);
use JSON::PP;
use POSIX qw(mkfifo);
use Test::More;

my $dir = scratch();
my $heart = get('heart_scale');
put("$dir/heart", $heart);

sub train
{
    my @arguments = map { split } @_;
    return run(['klr-train', @arguments], cwd => $dir);
}

# Parts of a warning.
my $warning = 'klr-train: warning';
my $usable = 'the model is usable but not optimal';
my $gap = qr/(?: \(relative duality gap [\d.e-]+\))?/;

sub model_lines
{
    my ($path) = @_;
    return map { /^([a-z_A-Z]+) (.*)$/ ? ($1 => $2) : () }
        split /\n/, get("$dir/$path");
}

# ---- Names and defaults ----

{
    mkdir "$dir/sub";
    put("$dir/sub/data.txt", $heart);
    my $run = train('sub/data.txt');
    is($run->{exit}, 0, 'a run with defaults');
    is($run->{out}, '', 'nothing on stdout');
    my $lines = join '', map {"klr-train: $_\n"}
        '270 examples, 13 features: converged after \d+ iterations',
        'objective [\d.]+, relative duality gap [\de.-]+, \d+ support vectors',
        'model saved to data\.txt\.model';
    like($run->{err}, qr/\A$lines\z/, 'a summary on stderr');
    my %model = model_lines('data.txt.model');
    is($model{kernel_type}, 'rbf', 'the kernel');
    cmp_ok(abs($model{gamma} * 13 - 1), '<', 1e-15, 'gamma is 1 / features');
    is($model{label}, '1 -1', 'the larger label comes first');
    is($model{model}, 'klr', 'the model is klr');
    is($model{status}, 'converged', 'the status');
}
{
    my $run = train('-q heart q.model');
    is("$run->{exit}$run->{out}$run->{err}", '0', '-q is silent');
}
{
    my $run = train('heart -');
    is($run->{out}, get("$dir/q.model"), 'a model on stdout');
    like($run->{err}, qr/^klr-train: model saved to stdout$/m,
        'and it says so');
}
unlike(train('heart /dev/null')->{err}, qr/saved/,
    'a model that is not wanted');
train('-q --positive -1 heart p.model');
{
    my %model = model_lines('p.model');
    is($model{label}, '-1 1', '--positive');
}

# ---- Equal runs, and spellings of one run ----

sub same
{
    my ($what, $one, $other) = @_;
    train("-q $one heart one");
    train("-q $other heart other");
    my @models = map { get("$dir/$_") } 'one', 'other';
    @models = map { of_any_origin($_) } @models if $one ne $other;
    is($models[0], $models[1], $what);
}
same('the same bytes twice', '', '');
same('the same bytes twice, svm', '-s svm', '-s svm');
same('the cache does not matter', '-m 0.05', '-m 100');
same('the cache does not matter, svm', '-s svm -m 0.05', '-s svm -m 100');
same('-s 0 is svm', '-s 0', '-s svm');
same('-s klr is the default', '-s klr', '');
same('-t by name', '-t 2', '-t rbf');
same('-t by the beginning of a name', '-t 1', '-t poly');
same('-a auto is newton for klr', '-a newton', '-a auto');
same('-a auto is smo for svm', '-s svm -a smo', '-s svm -a auto');
same('-b 1 changes nothing for klr', '-b 1', '-b 0');
same('long names', '-c 2 -g 0.25', '--cost 2 --gamma=0.25');
same('the last one holds', '-c 3 -w1 9 -w1 2', '-w1 2 -c 3');
same('weights are by number', '-w1 2', '-w+1.0 2');
same('-g 0 is the default', '-g 0', '');
same("a gap is kfd's -e: $_", "-s kfd $_ --gap 1e-4", "-s kfd $_ -e 1e-4")
    for '--regularizer kernel', '--regularizer coef';
{
    my ($one, $other) = map {
        printed_json(train("--json -q -e 1e-6 $_ heart w")) }
        '-c 4', '-c 8 -w1 0.5 -w-1 0.5';
    is($one->{objective}, $other->{objective}, 'weights multiply the cost');
    my $more = printed_json(train('--json -q -e 1e-6 -c 4 -w1 2 heart w'));
    cmp_ok($more->{objective}, '>', $one->{objective}, 'a weight counts');
}

# ---- --json ----

for my $model ('klr', 'svm') {
    my $run = train("--json -q -s $model heart j");
    my $json = printed_json($run);
    is(() = $run->{out} =~ /\n/g, 1, 'one line');
    is(join(' ', sort keys %$json),
        'c dual gap iterations kernel_evals last_fall model n '
            . 'n_different n_sv objective passes precond_flops seconds solver '
            . 'status warnings',
        'its keys');
    is(join(' ', sort keys %{ $json->{seconds} }), 'read train write',
        'the keys of seconds');
    my $solver = $model eq 'klr' ? 'newton' : 'smo';
    is("@$json{qw(model solver status n)}", "$model $solver converged 270",
        'what was done');
    cmp_ok($json->{objective}, '>=', $json->{dual}, 'primal >= dual');
    cmp_ok(abs(($json->{objective} - $json->{dual}) / $json->{objective}
            - $json->{gap}), '<', 1e-12, 'the gap is theirs');
    cmp_ok($json->{gap}, '<', 1e-3, 'the gap is small');
    my %lines = model_lines('j');
    is($json->{n_sv}, $lines{total_sv}, 'n_sv is the model\'s');
    is($json->{iterations}, $lines{iterations}, 'so are the iterations');
    cmp_ok($json->{kernel_evals}, '>', 0, 'kernel evaluations are counted');
}
{
    my $json = printed_json(train('--json -q -t sigmoid -r 1 heart j'));
    ok(exists $json->{gap} && !defined $json->{gap},
        'a kernel without duality has a gap of null');
}

# ---- --sv-indices ----

{
    train('-q -s svm --sv-indices heart i');
    my %lines = model_lines('i');
    my @rows = split / /, $lines{sv_indices};
    is(@rows, $lines{total_sv}, 'as many rows as support vectors');
    my @data = split /\n/, $heart;
    my ($vectors) = get("$dir/i") =~ /^SV\n((?:[-\d].*\n)*)/m;
    my @text = map { s/^\S+ //r =~ s/\s+$//r } split /\n/, $vectors;
    my @expected = map { $data[$_ - 1] =~ s/^\S+ //r =~ s/\s+$//r } @rows;
    is_deeply(\@text, \@expected, 'and they are the rows of the vectors');
    unlike(get("$dir/one"), qr/sv_indices/, 'only when asked for');
    train('-q -s svm -b 1 --sv-indices heart i');
    %lines = model_lines('i');
    @rows = split / /, $lines{sv_indices};
    my ($first) = split / /, $lines{nr_sv};
    is_deeply(\@rows, [ map { sort { $a <=> $b } @$_ }
            [ @rows[ 0 .. $first - 1 ] ], [ @rows[ $first .. $#rows ] ] ],
        'which ascend in each class, where parts were held out, too');
}

# ---- -v ----

{
    my $run = train('-v 5 heart v');
    is($run->{exit}, 0, '-v');
    ok(!-e "$dir/v", 'writes no model');
    is(() = $run->{out} =~ /Cross/g, 1, 'one line with Cross');
    my ($accuracy) =
        $run->{out} =~ /^Cross Validation Accuracy = ([\d.]+)%$/m;
    cmp_ok($accuracy // 0, '>', 78, 'the accuracy');
    cmp_ok($accuracy // 0, '<', 90, 'is that of heart');
    my %value = $run->{out} =~ /^(.*\S) = ([\d.]+)$/mg;
    is(join(', ', sort keys %value), 'AUC, Brier score, Log loss',
        'and the metrics');
    cmp_ok($value{'Log loss'} // 9, '<', log(2), 'better than a coin');
    is(train('-v 5 heart')->{out}, $run->{out}, 'the same twice');
    is(train('-v 5 --seed 1 heart')->{out}, $run->{out}, 'the seed is 1');
    isnt(train('-v 5 --seed 2 heart')->{out}, $run->{out}, 'another seed');
    my $json = printed_json(train('-v 5 --json heart'));
    is(sprintf('%g', 100 * $json->{accuracy}), $accuracy, '-v and --json');
    $run = train('-s svm -v 5 heart');
    unlike($run->{out}, qr/Log loss|nan/, 'no log loss without probabilities');
    is(train('-q -v 5 heart')->{err}, '', '-v -q is silent on stderr');
}

# ---- All metrics ----

{
    my $usual = train('-v 5 heart')->{out};
    my $run = train('-v 5 --metrics heart');
    is(substr($run->{out}, 0, length $usual), $usual, '--metrics adds to -v');
    my $more = substr $run->{out}, length $usual;
    my @lines = ('Balanced accuracy = [\d.]+%', 'F1 = [\d.]+', 'MCC = [\d.]+',
        'ECE = [\d.]+', 'Confusion matrix, .*', ' +1 +-1', ' +1( +\d+){2}',
        ' +-1( +\d+){2}', 'Best threshold by F1 .*', 'Best threshold by MCC .*',
        'Best threshold by balanced accuracy .*');
    like($more, qr/\A@{[join '\n', @lines]}\n\z/,
        'the rest of them');
    my $json = printed_json(train('-v 5 --json heart'));
    is_deeply($json->{labels}, [ 1, -1 ], '--json: the labels');
    my ($right, $missed, $false, $left) = map {@$_} @{ $json->{confusion} };
    is($right + $missed, 120, 'a row of the matrix is a class');
    is($false + $left, 150, 'so is the other');
    cmp_ok(abs($json->{accuracy} - ($right + $left) / 270), '<', 1e-12,
        'the accuracy follows from it');
    cmp_ok(abs($json->{balanced_accuracy} - ($right / 120 + $left / 150) / 2),
        '<', 1e-12, 'the balanced accuracy');
    cmp_ok(abs($json->{f1} - 2 * $right / (2 * $right + $missed + $false)), '<',
        1e-12, 'F1');
    cmp_ok(abs($json->{mcc} - ($right * $left - $missed * $false)
                / sqrt(120 * 150 * ($right + $false) * ($missed + $left))),
        '<', 1e-12, 'MCC');
    is($json->{metric}, 'logloss', 'the metric that would choose');
    for (qw(balanced_accuracy f1 mcc ece)) {
        my %name = (balanced_accuracy => 'Balanced accuracy', f1 => 'F1',
            mcc => 'MCC', ece => 'ECE');
        my ($value) = $more =~ /^$name{$_} = ([\d.]+)/m;
        $value /= 100 if /accuracy/;
        cmp_ok(abs($value - $json->{$_}), '<', 1e-6, "$_ in both");
    }
    $json = printed_json(train('-s svm -v 5 --json heart'));
    is(join(' ', grep { !defined $json->{$_} } sort keys %$json),
        'brier ece last_fall log_loss', 'null where there are no probabilities');
}

# ---- Limits ----

put("$dir/two", "1 1:1\n-1 1:2\n");
like(train('-s svm two m')->{err},
    qr/2 examples, 1 feature: converged after 1 iteration$/m,
    'one feature, one iteration');

for my $limit (['--max-iter 4', 'iteration', 'iterations'],
    ['--time-limit 1e-9', 'time', 'time'])
{
    my ($options, $status, $what) = @$limit;
    my $run = train("--json -q -c 1 $options -g 1 heart l");
    is($run->{exit}, 0, "$options: exit status");
    is(printed_json($run)->{status}, "${status}_limit", "$options: status");
    my $why = "the limit of $what was reached";
    like($run->{err}, qr/\A$warning: $why: $usable(?:$gap)?\n/,
        "$options: a warning");
    my %lines = model_lines('l');
    is($lines{status}, "${status}_limit", "$options: status in the model");
    $run = run(['klr-predict', 'heart_scale', "$dir/l", "$dir/o"]);
    is($run->{exit}, 0, "$options: the model is usable");
}

# A sparse model leaves out what is at the lower end of the box but for
# rounding, unless it is ruined by that: entries of K are large here, and so is
# the box there.
{
    put("$dir/large", join '', map { sprintf "%d 1:%d 2:%d\n", $_ % 2 ? 1 : -1,
            $_ * 7919 % 5000, ($_ % 2) * 8000 + $_ * 104729 % 3001 } 1 .. 60);
    my $sparse = train('--json -q -s sklr --link sigma -g 0.05 -c 1000 heart l');
    my ($vectors) = get("$dir/l") =~ /^SV\n(.*)/ms;
    my @near = grep { $_ <= 1.001e-5 } map {abs} $vectors =~ /^(\S+) 1:/mg;
    is(scalar @near, 0, 'a sparse model: none at the end of the box');
    cmp_ok(printed_json($sparse)->{n_sv}, '<', 150, 'which are many');
    for my $options ('-t linear large', '--box 0.2 -c 1 -g 0.05 heart') {
        my ($dropped, $kept) = map {
            printed_json(train("--json -q -s sklr --link sigma $_ $options l"))
        } '', '--keep-bounded';
        cmp_ok($dropped->{gap}, '<=', 1e-6, "$options: not ruined");
        is($dropped->{objective}, $kept->{objective}, "$options: all stay");
    }
}

# At a large lambda pairs take the place of steps, which take twice as many
# passes here; of many examples, too. Memory and threads have no part in it.
{
    put("$dir/many",
        clusters(seed => 4, labels => [ 1, -1 ], n => 4500, d => 2));
    my @model;
    for my $way ('-m 10 -j 1', '-m 200 -j 2') {
        my $json = printed_json(train('--json -q -s sklr --link sigma -g 1'
                . " -c 1e4 -l 1000 $way many l"));
        is($json->{status}, 'converged', "pairs, $way: converged");
        cmp_ok($json->{passes}, '<=', 20, 'passes');
        push @model, get("$dir/l");
    }
    ok($model[0] eq $model[1], 'the same model');
}

# The losses of a box have tails that fall below 0, and so may P: what steps led
# to is not given up for beta = 0 then.
{
    my $run = train('--json -q -s sklr --keep-bounded --box 0.01 -t 1 -d 2'
        . ' -g 100 --max-iter 80 heart l');
    my $json = printed_json($run);
    is($json->{status}, 'iteration_limit', 'below 0: not optimal');
    cmp_ok($json->{objective}, '<', -100, 'but not where it began');
}

# Stopped before anything is known of the kernel, all are as likely as the
# classes are frequent: 120 and 150 of heart.
for my $options ('-a smo', '-a smo1', '', '--regularizer coef', '-s svm',
    '-s ivm', '-s lhalf', '-s kfd', '-s kfd -a greedy')
{
    my $run = train("-q --json $options --time-limit 1e-9 heart l");
    is("$run->{exit} " . printed_json($run)->{status}, '0 time_limit',
        "no time at all, $options: it says so");
    like($run->{err}, qr/^$warning: a model without support vectors answers /m,
        "$options: and what is left");
    like(get("$dir/l"), qr/^status time_limit$/m, "$options: in the model");
    my %none = model_lines('l');
    cmp_ok(abs($none{rho} - log(150 / 120)), '<', 1e-12,
        "$options: the frequencies of the classes");
}

is(printed_json(train('--json -q -a smo --max-iter 7 heart l'))->{iterations},
    7,
    '--max-iter is the number of iterations');

# Two of three classes are solved at once, as well as doubles can.
{
    my $rows = join '', map { "2 1:$_ 2:" . $_ * $_ % 7 / 7 . "\n" } 1 .. 30;
    put("$dir/three", "0 1:0 2:0\n1 1:1 2:1\n$rows");
    my $run = train('--json -q -a smo -e 1e-18 --max-iter 9 three l');
    is(printed_json($run)->{status}, 'iteration_limit',
        'a limit outranks rounding errors');
}
# The first pair of classes is not solved in 5 steps, the others are in one.
{
    my $rows = join '', map { $_ % 2 . " 1:" . $_ * 7 % 11 / 11 . ' 2:'
            . $_ * 5 % 13 / 13 . "\n" } 1 .. 30;
    put("$dir/three", "${rows}2 1:9 2:9\n");
    my $json = printed_json(
        train('--json -q -s svm -t 0 -c 10 --max-iter 5 three l'));
    is($json->{status}, 'iteration_limit', 'the gravest status is told');
    cmp_ok($json->{gap}, '>', 0.1, 'and the largest gap');
}

# Both are at their bound: every threshold from -0.98 to 0.98 is optimal.
put("$dir/two", "1 1:1\n-1 1:-1\n");
train('-q -s svm -t 0 -c 0.01 two bound');
{
    my %lines = model_lines('bound');
    cmp_ok(abs($lines{rho}), '<', 1e-12,
        'without a free support vector rho is amid');
}

# ---- Help ----

for my $help ('--help', '-h', '-c 5 --help', '-h heart') {
    my $run = train($help);
    is($run->{exit}, 0, "$help: exit status");
    is($run->{err}, '', "$help: stderr");
    like($run->{out},
        qr/\Ausage: klr-train \[options\] training_set \[model\]\n/,
        "$help: stdout");
}
{
    my $help = train('--help')->{out};
    for my $letter (split //, 'sabtdgrcmehvq') {
        like($help, qr/^  -$letter, --[a-z0-9-]+ /m, "help has -$letter");
    }
    like($help, qr/^  -c, --cost C .*\(default: klr 30, sklr 30, svm$/m,
        'and live defaults');
    is((grep { length > 79 } split /\n/, $help), 0, 'and 79 columns');
}
is(train('--version')->{out}, "klr-train 0.1.0\n", '--version');
{
    my $run = run(['klr-train']);
    like($run->{err}, qr/\Ausage: klr-train .*\n.*--help/,
        'a short usage without arguments');
}

# ---- Signals ----

put("$dir/long", mixed()); # minutes of steps
my @long = qw(klr-train -a smo -c 1e6 -g 0.01 -e 1e-9 long);

my $working = qr/^klr-train: .*iterations, violation/m;
for my $signal (['HUP', 129], ['INT', 130], ['TERM', 143]) {
    my ($name, $exit) = @$signal;
    my $run = start([@long, '--json', "$name.model"], cwd => $dir,
        env => $name eq 'TERM' ? {} : hasty());
    ok(wait_for($run, $working), "SIG$name: training shows progress");
    kill $name, $run->{pid};
    finish($run);
    is($run->{exit}, $exit, "SIG$name: exit status");
    my $json = printed_json($run);
    my $says = mixed_verdict($json->{objective}, 1e6);
    is($json->{status}, 'interrupted', "SIG$name: status");
    like($run->{err}, qr/^$warning: training was interrupted: $says/m,
        "SIG$name: a warning");
    $run = run(['klr-predict', "$dir/long", "$dir/$name.model", "$dir/o"]);
    is($run->{exit}, 0, "SIG$name: the model is read");
}
mkfifo("$dir/rows", 0600) or die "mkfifo: $!";
for my $name (qw(HUP INT QUIT USR1 USR2 ALRM TERM XCPU VTALRM PROF IO PWR
    STKFLT RTMIN NUM45 RTMAX))
{
    my $run = start(['klr-predict', '-', 'TERM.model', 'begun'], cwd => $dir,
        stdin_file => "$dir/rows");
    open my $rows, '>', "$dir/rows" or die "$dir/rows: $!";
    ok(wait_until($run, sub { () = glob "$dir/.klr*" }),
        "SIG$name: predictions are begun");
    kill $name, $run->{pid};
    finish($run);
    is(join(' ', $run->{status} & 127, glob "$dir/.klr*"), '0',
        "SIG$name: nothing is left");
}
{
    my $run = start([@long, '-v', '3'], cwd => $dir, env => hasty());
    ok(wait_for($run, $working), '-v: training shows progress');
    kill 'INT', $run->{pid};
    finish($run);
    is($run->{exit}, 130, '-v: exit status');
    is($run->{out}, '', '-v: no results');
    like($run->{err},
        qr/^klr-train: warning: training was interrupted: no results/m,
        '-v: a warning');
}
{
    my $run = run([@long, '-q', '--time-limit', '1.5', 'q'], cwd => $dir,
        env => hasty());
    like($run->{err}, qr/\A(?:klr-train: warning: .*\n)+\z/,
        '-q shows no progress');
}
# nohup
{
    my $run = start([@long, 'nohup'], cwd => $dir, ignored => 'HUP',
        env => hasty());
    ok(wait_for($run, $working), 'SIGHUP ignored: training shows progress');
    kill $_, $run->{pid} for qw(HUP TERM);
    finish($run);
    is($run->{exit}, 143, 'SIGHUP ignored: it stays so');
}
# The model's file is a pipe that nobody reads: saving would wait for ever.
{
    mkfifo("$dir/pipe", 0600) or die "mkfifo: $!";
    my $run = start([@long, 'pipe'], cwd => $dir, env => hasty());
    ok(wait_for($run, $working), 'a second signal: training shows progress');
    kill 'INT', $run->{pid};
    ok(wait_for($run, qr/training was interrupted/),
        'a second signal: the first ends training');
    kill 'INT', $run->{pid};
    finish($run);
    is($run->{exit}, 130, 'a second signal ends the program');
}
# Nothing is trained yet: stdin is still open.
{
    mkfifo("$dir/data", 0600) or die "mkfifo: $!";
    my $run = start(['klr-train', '-', 'early'], cwd => $dir,
        stdin_file => "$dir/data");
    open my $data, '>', "$dir/data" or die "$dir/data: $!";
    syswrite $data, "1 1:1\n";
    kill 'INT', $run->{pid};
    finish($run);
    is($run->{exit}, 130, 'a signal while reading: exit status');
    ok(!-e "$dir/early", 'a signal while reading: no model');
}

# ---- features, gamma and C that do not go together ----

sub warns
{
    my ($options, $says, $name) = @_;
    is(train("-q $options size /dev/null")->{err},
        $says && "$warning: size: $says\n", $name);
    return;
}
my ($scale, $rows) = ('scale the features (--scale), or choose', 30);
for my $case (['1e3', 'far apart to tell of each other', 'smaller -g'],
    ['1e-6', 'near each other to be told apart at C = 30', 'larger -g or -c'])
{
    my ($size, $how, $choose) = @$case;
    put("$dir/size", join '', map { ($_ % 2 ? '1' : '-1') . ' 1:' . $_ * $size
                . "\n" } 1 .. $rows);
    warns('', "by the default gamma examples are too $how: $scale a $choose",
        "features of size $size");
}
warns('-t linear -c 0.5', "examples are too near each other to be told apart at "
    . "C = 0.5: $scale a larger -c", 'a linear kernel');
unlike(train('-q -c 1e12 size /dev/null')->{err}, qr/size:/,
    'C makes up for small features');
put("$dir/size", join '', map { ($_ % 2 ? '1' : '-1') . " 1:$_\n" } 1 .. $rows);
warns('-g 0.1', '', 'a gamma of 0.1');
for my $option ('', '--scale minmax ') {
    my $choose = $option ? 'choose' : $scale;
    warns("${option}-g 1e9", 'by gamma = 1000000000 examples are too far apart '
        . "to tell of each other: $choose a smaller -g", "$option-g 1e9");
    warns("${option}-g 1e-12", 'by gamma = 1e-12 examples are too near each '
        . "other to be told apart at C = 30: $choose a larger -g or -c",
        "$option-g 1e-12");
}

# ---- memory ----

{
    put("$dir/many", join '', map { ($_ % 2 ? '1' : '-1') . " 1:$_\n" }
            1 .. 80000);
    for my $options ('-s klr', '-s kfd -a greedy', '-s ivm') {
        my $run = train("-q -m 1 $options many model.many");
        like($run->{err},
            qr/^klr-train: 80000 examples need at least \d+ MB \(-m\)$/m,
            "$options: what -m cannot hold is refused");
        is("$run->{exit} " . (-e "$dir/model.many" ? 'a model' : 'no model'),
            '1 no model', "$options: and nothing is written");
    }
    for my $case (
        [qw(many -m 90 -s kfd -a greedy --candidates 1 --link none)],
        [qw(heart -m 1 -s ivm)])
    {
        my ($data, @options) = @$case;
        my $run = train("-q --json -e 1e-9 @options $data few");
        is("$run->{exit} " . printed_json($run)->{status}, '0 memory_limit',
            "@options: a basis that -m does not hold");
        like($run->{err}, qr/^$warning: the memory \(-m\) holds no .*$usable/m,
            '... a warning');
        like(get("$dir/few"), qr/^total_sv [1-9].*^status memory_limit$/ms,
            '... and a model of what it holds');
    }
}

done_testing();
