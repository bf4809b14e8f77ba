#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
#
# Several costs in one run: a model for each, or with -v a table and the model
# of the best. What is found along the path must be what runs at a single cost
# find.
use strict;
use warnings;
use lib 'tests/cli/lib';
use KLR;
use Judge qw(uniform clusters mixed mixed_verdict evaluate);
use JSON::PP;
use Test::More;

my $dir = scratch();
my $heart = get('heart_scale');
put("$dir/heart", $heart);

# Two and three classes around points of a plane.
{
    my $random = uniform(3);
    for my $k (2, 3) {
        put("$dir/classes$k", join '', map {
            my $y = $_ % $k;
            join(' ', $y, map { sprintf '%d:%.6f', $_ + 1,
                    ($y == $_) + 1.4 * $random->() } 0 .. 1) . "\n"
        } 1 .. 150);
    }
}

sub train
{
    my @arguments = map { split } @_;
    return run(['klr-train', @arguments], cwd => $dir);
}

# A warning that a model is not optimal.
sub warns
{
    my ($why) = @_;
    return qr/^klr-train: warning: $why: the model is usable but not optimal/m;
}

# The rows of a table, a hash for each: by the titles of the columns.
sub table
{
    my ($run) = @_;
    my ($title, @rows) = split /\n/, $run->{out} =~ s/^Best.*//msr;
    my @names = split / {2,}/, $title =~ s/^ *//r;
    return map {
        my %row;
        @row{@names} = map {s/%//r} split;
        \%row;
    } @rows;
}

# Decision values of a model for the data it came from.
sub decisions
{
    my ($data, $model) = @_;
    run(['klr-predict', '--decision', "$dir/$data", "$dir/$model",
            "$dir/decisions"]);
    return map { (split)[1] } split /\n/, get("$dir/decisions");
}

# ---- A model for each ----

{
    my $run = train('-c 0.1,10:40:x2,10 heart m');
    is($run->{exit}, 0, 'a path: exit status');
    is($run->{out}, '', 'a path: nothing on stdout');
    is(join(' ', sort map { s{.*/}{}r } glob "$dir/m*"),
        'm.0.1 m.10 m.20 m.40', 'a model for each, named by its C');
    my $line = join ', ', 'C = [\d.]+: converged after \d+ iterations',
        'objective [\d.]+', 'relative duality gap [\d.e+-]+',
        '\d+ support vectors', 'model saved to m\.[\d.]+';
    like($run->{err}, qr/\A(klr-train: $line\n){4}\z/,
        'and a line for each');
    is(train('-q -c 0.1,1 heart m')->{err}, '', '-q is silent');
    train('-q -c 0.5,2 heart');
    ok(-s "$dir/heart.model.0.5" && -s "$dir/heart.model.2",
        'the name of the model may be left out');
}

for my $case (['heart', '-s klr', 1e-6],
    ['heart', '-s klr -a smo -e 1e-5', 1e-6],
    ['heart', '-s svm -e 1e-5', 1e-4], ['heart', '-t 3 -g 0.01', undef],
    ['classes3', '-s klr -g 2', 1e-6], ['classes3', '-s svm -g 2', 1e-3])
{
    my ($data, $options, $gap) = @$case;
    my $what = "$data, $options";
    my $reports = printed_json(
        train("-q --json $options -c 0.1:10:x10 $data path"));
    is(join(' ', map { $_->{c} } @$reports), '0.1 1 10', "$what: the costs");
    for my $report (@$reports) {
        my $c = $report->{c};
        my $alone = printed_json(train("-q --json $options -c $c $data alone"));
        is($report->{status}, 'converged', "$what, C = $c: converged");
        my $difference = abs($report->{objective} / $alone->{objective} - 1);
        cmp_ok($difference, '<', 2 * ($gap // 1e-3),
            "$what, C = $c: the objective is that of a single run");
        cmp_ok($report->{gap}, '<=', $gap, "$what, C = $c: the gap")
            if defined $gap;
        my ($cost) = get("$dir/path.$c") =~ /^cost (.*)$/m;
        is($cost, $c, "$what, C = $c: the cost in the model");
        my @path = decisions($data, "path.$c");
        my @alone = decisions($data, 'alone');
        my ($most) = sort { $b <=> $a } map { abs($path[$_] - $alone[$_]) }
            0 .. $#alone;
        cmp_ok($most, '<', 0.02 * (1 + $c),
            "$what, C = $c: the same decisions");
        is(@path, @alone, "$what, C = $c: as many");
    }
    is($reports->[$_]{kernel_evals} >= $reports->[$_ - 1]{kernel_evals}, 1,
        "$what: counts grow along the path") for 1 .. 2;
}

# ---- With -v: a table, and the best ----

for my $case (['heart', ''], ['heart', '-s svm'], ['classes2', '-t 0'],
    ['classes3', '-g 2'], ['classes3', '-g 2 -s svm'])
{
    my ($data, $options) = @$case;
    my $what = "$data, $options";
    $options .= ' -e 1e-11' unless $options =~ /svm/;
    my $run = train("-v 4 $options -c 0.1:100:x10 $data best");
    is($run->{exit}, 0, "$what: exit status");
    is(() = $run->{out} =~ /Cross/g, 1, "$what: one line with Cross");
    my @rows = table($run);
    is(join(' ', map { $_->{C} } @rows), '0.1 1 10 100', "$what: a row each");
    for my $row (@rows) {
        my $alone = printed_json(
            train("-v 4 --json $options -c $row->{C} $data"));
        cmp_ok(abs($row->{accuracy} / 100 - $alone->{accuracy}), '<',
            $options =~ /svm/ ? 0.01 : 1e-6,
            "$what: accuracy at C = $row->{C}");
        is(exists $row->{AUC}, defined $alone->{auc},
            "$what: a column for AUC with two classes");
        next if $options =~ /svm/;
        cmp_ok(abs($row->{'log loss'} - $alone->{log_loss}), '<', 1.6e-6,
            "$what: log loss at C = $row->{C}");
        cmp_ok(abs($row->{Brier} - $alone->{brier}), '<', 1.6e-6,
            "$what: Brier score at C = $row->{C}");
    }
    my ($best) = $options =~ /svm/
        ? sort { $b->{accuracy} <=> $a->{accuracy}
            || $a->{C} <=> $b->{C} } @rows
        : sort { $a->{'log loss'} <=> $b->{'log loss'} } @rows;
    is(exists $best->{'log loss'}, $options !~ /svm/,
        "$what: a column for log loss with probabilities");
    like($run->{out},
        qr/^Best C = \Q$best->{C}\E\nCross Validation Accuracy = /m,
        "$what: the best is the best of the table");
    my ($accuracy) = $run->{out} =~ /Accuracy = ([\d.]+)%/;
    cmp_ok(abs($accuracy - $best->{accuracy}), '<', 1e-3,
        "$what: and its accuracy follows");
    train("-q $options -c $best->{C} $data alone");
    is(get("$dir/best"), get("$dir/alone"),
        "$what: the model is that of the best C alone");
}
{
    my $run = train('-c 1,10 heart /dev/null');
    my @strewn = grep { -e } '/dev/null.1', '/dev/null.10';
    is("$run->{exit}@strewn", 0, '/dev/null takes the models of several C');
    unlike($run->{err}, qr/saved/, 'and none is saved');
    unlink @strewn;
}
{
    my $plain = train('-v 5 -c 1 heart never');
    is(train('-v 5 -c 1,1 heart never')->{out}, $plain->{out},
        'one cost, said twice, is one');
    ok(!-e "$dir/never", 'and leaves no model');
    my $idle = "klr-train: warning: one point alone is validated: never is not "
        . "written\n";
    is($plain->{err}, $idle, 'as a warning says');
    is(train('-v 5 heart /dev/null')->{err}, '', 'but where none was wanted');
    is(train('-v 271 heart never')->{err}, $idle . 'klr-train: option -v: 271 '
        . "folds need at least as many examples, not 270\n",
        'or nothing validated');
    unlike($plain->{out}, qr/Best| C /, 'nor a table');
    my $run = train('-v 5 -c 1,10 --sv-indices heart');
    like($run->{err}, qr/^klr-train: model saved to heart\.model$/m,
        'the best model is said to be saved');
    like(get("$dir/heart.model"), qr/^sv_indices 1 /m, 'with its indices');
    is(train('-v 5 -q -c 1,10 heart')->{err}, '', '-q is silent');
}
{
    my $json = printed_json(train('-v 3 -q --json -c 0.1,1,10 heart best'));
    is(join(' ', map { $_->{c} } @{ $json->{values} }), '0.1 1 10',
        '--json has the table');
    is(join(' ', sort keys %{ $json->{values}[0] }),
        'accuracy auc balanced_accuracy brier c ece f1 log_loss mcc n_sv '
            . 'standard_error status',
        'its columns');
    my ($best) = sort { $a->{log_loss} <=> $b->{log_loss} }
        @{ $json->{values} };
    is("@$json{qw(c best_c)}", "@$best{qw(c c)}", 'the best of them');
    my $itself = printed_json(train("-v 3 -q --json -c $best->{c} heart"));
    is_deeply([ @$json{qw(log_loss standard_error confusion)} ],
        [ @$itself{qw(log_loss standard_error confusion)} ], 'and what it is alone');
    my $alone = printed_json(train("-q --json -c $json->{best_c} heart alone"));
    is($json->{refit}{objective}, $alone->{objective},
        'and the model made with it');
}

# Points are compared at a gap of 1e-3, as the table has them; the best is
# validated at 1e-6 for the lines below. -e or --gap holds for both.
{
    my @grid = qw(-v 3 -q -c 0.1:1000:x10 heart never);
    my ($open, $coarse, $fine, $gap) =
        map { train("$_ @grid")->{out} } '', '-e 1e-3', '-e 1e-6', '--gap 1e-6';
    is($gap, $fine, '--gap is another -e');
    my ($open_best, $fine_best) = map {/^Best (.*)/ms} $open, $fine;
    is($open_best, $fine_best, 'the best is solved as with -e 1e-6');
    my ($open_table, $coarse_table, $fine_table) =
        map {s/^Best.*//msr} $open, $coarse, $fine;
    is($open_table, $coarse_table, 'the table as with -e 1e-3');
    my @coarse = split /\n/, $coarse_table;
    my @fine = split /\n/, $fine_table;
    cmp_ok((grep { $coarse[$_] ne $fine[$_] } 0 .. $#fine),
        '>', 1, 'a coarser table is another');
    unlike($coarse, qr/^Best \Q$open_best\E/m, 'whose best is another');
}
{
    my ($open, $coarse, $fine) =
        map { printed_json(train("--json -v 3 -q -s kfd -c 1,100 $_ heart m")) }
        '', '-e 1e-6', '-e 1e-12';
    is_deeply($open->{values}, $coarse->{values}, 'kfd: the table at 1e-6');
    isnt($coarse->{log_loss}, $fine->{log_loss}, 'another than at 1e-12');
    is($open->{log_loss}, $fine->{log_loss}, 'kfd: the best at 1e-12');
}

# ---- The metric that chooses ----

for my $case ([ accuracy => 1, 'accuracy' ],
    [ balanced => 1, 'balanced_accuracy' ],
    [ logloss => -1, 'log_loss' ], [ brier => -1, 'brier' ],
    [ auc => 1, 'auc' ],
    [ f1 => 1, 'f1' ], [ mcc => 1, 'mcc' ], [ ece => -1, 'ece' ])
{
    my ($metric, $sign, $key) = @$case;
    my $options = "-v 3 -q -g 0.3 --metric $metric -c 0.01:10:x10 heart best";
    my $json = printed_json(train("--json $options"));
    my ($best) = sort { $sign * ($b->{$key} <=> $a->{$key})
        || $a->{c} <=> $b->{c} }
        grep { defined $_->{$key} } @{ $json->{values} };
    is("@$json{qw(metric best_c)}", "$metric $best->{c}", "--metric $metric");
    my $run = train($options);
    like($run->{out}, qr/^ *\Q$best->{c}\E .* \*$/m, 'marked in the table');
    is(() = $run->{out} =~ /\*/g, 1, 'as the only one');
    like($run->{out}, qr/^Best C = \Q$best->{c}\E$/m, 'and named');
    my %title = (accuracy => 'accuracy', balanced => 'balanced',
        logloss => 'log loss', brier => 'Brier', auc => 'AUC', f1 => 'F1',
        mcc => 'MCC', ece => 'ECE');
    my %columns = map { $_ => 1 } 'C', 'accuracy', 'log loss', 'Brier', 'AUC',
        's.e.', 'SVs', $title{$metric};
    is(join(',', sort keys %{ (table($run))[0] }),
        join(',', sort keys %columns),
        'which has a column for it');
}
like(train('-v 3 -q --metrics -c 1e-4,1 heart best')->{out},
    qr/^0[.]0001(?: +[^ ]+){12} +- /m,
    'a dash where there is no value, here of MCC');
is(join(',',
    sort keys %{ (table(train('-v 3 --metrics -c 1,10 heart best')))[0] }),
    'AUC,Brier,C,ECE,F1,MCC,SVs,accuracy,balanced,log loss,s.e.',
    '--metrics: all columns');

# ---- Lambda over C, support vectors, and the sparsest ----

# Of the K best by accuracy, where of equals the sparser goes first, the one of
# fewest support vectors; what it is by itself has the same place.
{
    my $grid = '-s sklr --link sigma --metric accuracy -v 3 -q -g 0.2 '
        . '-c 10:1000:x10 -l 0.1c,0.5c,1c heart';
    for my $k (1, 3, 9) {
        my $json = printed_json(train("--json --sparsest $k $grid best"));
        my @ranked = sort { $b->{accuracy} <=> $a->{accuracy}
            || $a->{n_sv} <=> $b->{n_sv} } @{ $json->{values} };
        my ($best) = sort { $a->{n_sv} <=> $b->{n_sv} } @ranked[ 0 .. $k - 1 ];
        is("@$json{qw(best_c best_lambda_over_c n_sv)}",
            "@$best{qw(c lambda_over_c n_sv)}", "--sparsest $k");
        is($json->{best_lambda}, $json->{best_c} * $json->{best_lambda_over_c},
            'lambda beside its share of C');
        like(get("$dir/best"), qr/^lambda \Q$json->{best_lambda}\E$/m,
            'the model has lambda');
        next if $k < 9;
        my ($row) = grep { $_->{C} == $best->{c}
            && $_->{'lambda/C'} == $best->{lambda_over_c} }
            table(train("--sparsest $k $grid best"));
        is($row->{SVs}, sprintf('%.1f', $best->{n_sv}), 'as in the table');
    }
    my $folds = printed_json(train('-q --json -s svm -v 2 -c 1 heart'));
    is($folds->{n_sv} * 2 % 1, 0, 'support vectors: a mean of two folds');
    is(printed_json(train('-q --json --loo heart'))->{n_sv}, 270,
        '--loo: those of the model');
}

# ---- Nothing else matters ----

for my $options ('-v 3 -c 0.1,1,10', '-c 0.1,1,10', '-s svm -v 3 -c 0.1,1,10') {
    my @found;
    for my $more ('-j 1', '-j 2', '-j 3 -m 0.3') {
        unlink glob "$dir/same*";
        my $run = train("$options $more -q heart same");
        push @found, join '', $run->{out}, map { get($_) } glob "$dir/same*";
    }
    is($found[1], $found[0], "$options: the same bytes with 1 and 2 threads");
    is($found[2], $found[0], "$options: and with less memory");
}

# ---- Ending early ----

{
    my $run = train('--json -c 1,100 -g 1 --max-iter 6 heart l');
    is($run->{exit}, 0, '--max-iter: exit status');
    my $reports = printed_json($run);
    is($reports->[1]{status}, 'iteration_limit', '--max-iter: status');
    like($run->{err}, warns('C = 100: the limit of iterations was reached'),
        '--max-iter: a warning with the cost');
    $run = train('-q -a smo --max-iter 1 -c 1:2048:x2 heart l');
    my @warnings = split /\n/, $run->{err};
    is(scalar @warnings, 11, 'warnings of many costs: ten, and one');
    like($warnings[9], qr/C = 512: the limit of iterations/, 'in their order');
    is($warnings[10], 'klr-train: warning: and 2 more like these',
        'of how many there are besides');
    $run = train('-q --json -c 1,100 --time-limit 1e-9 heart l');
    is(join(' ', $run->{exit}, map { $_->{status} } @{ printed_json($run) }),
        '0 time_limit time_limit', '--time-limit: status of each');
    for my $c (1, 100) {
        $run = run(['klr-predict', 'heart_scale', "$dir/l.$c", "$dir/o"]);
        is($run->{exit}, 0, "--time-limit: the model at $c is usable");
    }
}

# The second cost wants rows of doubles: nothing of the floats before is left.
{
    my $reports = printed_json(
        train('-q --json -a smo -e 1e-6 -g 0.05 -c 0.001,100 heart d'));
    my ($judged) = evaluate('klr', "$dir/heart", "$dir/d.100", 100);
    my $error = $reports->[1]{objective} / $judged->{primal} - 1;
    cmp_ok(abs $error, '<', 1e-11,
        'smo: floats at one cost, doubles at the other');
}

# There is no end to the last cost soon.
put("$dir/long", mixed());
my @long = split " ", "klr-train -a smo -c 1e-3,1e6 -g 0.01 -e 1e-9";

{
    my $run = start([@long, '--json', 'long', 'INT'], cwd => $dir,
        env => hasty());
    ok(wait_for($run, qr/iterations, violation/), 'a path shows progress');
    kill 'INT', $run->{pid};
    finish($run);
    is($run->{exit}, 130, 'a path interrupted: exit status');
    my $json = printed_json($run)->[-1];
    my $says = mixed_verdict($json->{objective}, 1e6);
    is($json->{status}, 'interrupted', 'its status');
    like($run->{err}, qr/^\S+ warning: C = 1000000: .* interrupted: $says/m,
        'a warning');
    for my $c ('0.001', '1000000') {
        $run = run(['klr-predict', "$dir/long", "$dir/INT.$c", "$dir/o"]);
        is($run->{exit}, 0, "the model at $c is read");
    }
}
{
    my $run =
        start([@long, '-v', '3', 'long', 'none'], cwd => $dir, env => hasty());
    ok(wait_for($run, qr/iterations, violation/), '-v shows progress');
    kill 'INT', $run->{pid};
    finish($run);
    is("$run->{exit}$run->{out}", '130', '-v interrupted: no table');
    ok(!-e "$dir/none", 'no model');
    my @warnings = grep {/warning/} split /^/, $run->{err};
    is("@warnings", "klr-train: warning: training was interrupted: no "
        . "results\n", 'it says so once');
}

# ---- Links of points that are compared ----

# Of many examples they are fitted to a fifth, as with --calibrate holdout; those
# of the answer, and all of fewer examples, to each fifth in turn.
for my $n (6300, 6200) {
    put("$dir/links", clusters(seed => 8, labels => [1, 2], n => $n, d => 2));
    my $options = '-q --json --basis 10 --basis-bound none --link platt -v 5';
    my ($cv, $holdout) = map { printed_json(
        train("$options -c 1,10 --calibrate $_ links m")) } qw(cv holdout);
    my @losses = map { join ' ', map { $_->{log_loss} } @{ $_->{values} } }
        $cv, $holdout;
    is($losses[0] eq $losses[1], $n == 6300, "$n examples: the table");
    my $alone = printed_json(train("$options -c $cv->{best_c} links"));
    is($cv->{log_loss}, $alone->{log_loss}, "$n examples: the answer by cv");
    isnt($cv->{log_loss}, $holdout->{log_loss}, 'another than by holdout');
}

# Of a grid that is cut the finished points are printed, and no other is chosen.
for my $signal (['INT', 130, '--json'], ['TERM', 143]) {
    my ($name, $exit, @json) = @$signal;
    my $run = start(['klr-train', '-a', 'smo', '-c', '1e6', '-g', '0.01,1e6',
            '-e', '1e-9', '-v', 3, '-j', 1, @json, 'long', 'none'],
        cwd => $dir, env => hasty());
    ok(wait_for($run, qr/2 points, (?:[5-9]\d)% done/),
        "SIG$name: the first point of a grid is done");
    kill $name, $run->{pid};
    finish($run);
    is($run->{exit}, $exit, "SIG$name: exit status");
    like($run->{err}, qr/^klr-train: warning: training was interrupted: 1 of 2 points are not solved$/m,
        "SIG$name: a warning");
    ok(!-e "$dir/none", "SIG$name: no model");
    if (!@json) {
        like($run->{out}, qr/^ *0\.01  +-(?:  +-)*\n *1000000  .*\*\nBest gam/m,
            "SIG$name: - where there is nothing");
        next;
    }
    my $json = printed_json($run);
    is(join(' ', map { $_->{status} } @{ $json->{values} }),
        'interrupted converged', "SIG$name: status of each");
    is(join(' ', map { defined $_->{accuracy} ? 1 : 0 } @{ $json->{values} }),
        '0 1', "SIG$name: null for the one that was cut");
    is($json->{best_gamma}, 1e6, "SIG$name: the best of one");
    ok(!exists $json->{refit}, "SIG$name: nothing is trained");
}

# At a large C steps whose conjugate gradients ended too soon would have to be
# cut short: 120 products and more.
{
    my $run = train("-q --json -g 0.05 -c 2^-5:2^15:x4 $dir/heart $dir/long");
    my @costs = @{ decode_json($run->{out}) };
    is(scalar @costs, 11, 'a path to a large C');
    cmp_ok($costs[-1]{iterations}, '<=', 110, 'takes few products');
}

# Floats that tell the gap of beta do not tell the one that a certificate forms
# of double entries: points of a large C are solved, too.
for my $options ('-v 3 -g 0.01', '-v 4 -g 0.003,0.01,0.3 -s sklr -l 0.1c') {
    my $run = train("-q --json $options -c 0.03,1,30,1e3,3e4,1e6 $dir/heart");
    unlike($run->{err}, qr/rounding/, "$options: enough digits");
    my %status = map { $_->{status} => 1 } @{ printed_json($run)->{values} };
    is(join(' ', keys %status), 'converged', "$options: all are solved");
}

done_testing();
