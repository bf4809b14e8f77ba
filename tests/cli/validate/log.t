# SPDX-License-Identifier: BSD-3-Clause
#
# --log, --resume and --part: a grid that was stopped, by a signal, within a
# line or by kill -9, goes on to the same bytes; logs of another problem are
# refused by what differs.
use strict;
use warnings;
no warnings 'qw'; # lists of numbers
use lib 'tests/cli/lib';
use Test::More;
use Judge qw(clusters);
use KLR;

my $dir = scratch();
my $data = 'heart_scale';

sub train { return run([ qw(klr-train -q), @_ ]) }
sub lines { return split /^/, get($_[0]) }

# Folds of two gammas, each by itself, and a third gamma as a whole are a log.
sub compare_folds
{
    my ($whole, $case) = @_;
    my @option = grep { !/^--[mj]/ } @$case;
    my @line;
    for my $part ([ 0.1, 3 ], [ 0.01, 1 ], [ 0.1, 1 ], [1], [ 0.1, 2 ],
        [ 0.01, 3 ], [ 0.01, 2 ])
    {
        my ($g, $fold) = @$part;
        my @part = (@option, '-g', $g, '--part', "$dir/fold",
            $fold ? ('--only-fold', $fold) : (), $data);
        my $run = train(@part);
        is("$run->{exit}$run->{out}$run->{err}", 0, 'a fold says nothing');
        push @line, get("$dir/fold");
        train(@part);
        is(get("$dir/fold"), $line[-1], 'nor is it done again');
        unlink "$dir/fold";
    }
    put("$dir/folds", join '', @line);
    my $run = train(@$case, qw(-g 0.01,0.1,1 --resume --log), "$dir/folds",
        $data, "$dir/model");
    $run->{out} =~ s/"seconds": .*//;
    is("$run->{out}$run->{err}", $whole->{out} . $whole->{err},
        "folds make a whole: @$case");
    is(get("$dir/model"), get("$dir/plain"), 'with its model');
    return;
}

# ---- Whole, cut anywhere, and in parts ----

for my $case ([ qw(-v 3 -c 0.1,10) ], [ qw(-v 3 -c 0.1,10 --metrics --json) ],
    [ qw(-v 3 -s svm -c 1) ], [ qw(--loo -c 0.1,10) ],
    [ qw(-v 3 -s sklr -c 1,10 -l 0.1c,0.5c) ], [ qw(-v 3 -s kfd -c 1,10) ])
{
    my @grid = (@$case, qw(-g 0.01,0.1,1));
    my $plain = train(@grid, $data, "$dir/plain");
    my $whole = train(@grid, '--log', "$dir/log", $data, "$dir/whole");
    my $seconds = qr/"seconds": .*/;
    $_->{out} =~ s/$seconds// for $plain, $whole;
    is("$whole->{exit}$whole->{err}$whole->{out}",
        "0$plain->{err}$plain->{out}", "the same with a log: @$case");
    my ($head, @gammas) = lines("$dir/log");
    is(@gammas, 3, 'a line for each gamma');
    is_deeply([ sort map { JSON::PP::decode_json($_)->{gamma} } @gammas ],
        [ 0.01, 0.1, 1 ], 'of JSON');
    for my $kept ('', $head, substr($head, 0, 50), $head . $gammas[1],
        $head . $gammas[0] . substr($gammas[1], 0, -1),
        $head . $gammas[2] . $head . $gammas[0] . $head)
    {
        put("$dir/cut", $kept);
        my $run = train(@grid, '--log', "$dir/cut", '--resume', $data,
            "$dir/model");
        $run->{out} =~ s/$seconds//;
        is("$run->{exit}$run->{err}$run->{out}",
            "0$whole->{err}$whole->{out}", 'the same output');
        is(get("$dir/model"), get("$dir/plain"), 'the same model');
        my ($again, @other) = lines("$dir/cut");
        is(join('', sort grep { $_ ne $head } @other), join('', sort @gammas),
            'the same log');
    }
    my $parts = '';
    for my $g (0.01, 0.1, 1) {
        my $run = train(@$case[ grep { $$case[$_] !~ /^--[mj]/ } 0 .. $#$case ],
            '-g', $g, '--part', "$dir/part.$g", $data);
        is("$run->{exit}$run->{out}$run->{err}", 0, "a part says nothing");
        $parts .= get("$dir/part.$g");
        unlink "$dir/part.$g";
    }
    put("$dir/parts", $parts);
    my $run = train(@grid, qw(--resume --log), "$dir/parts", $data,
        "$dir/model");
    $run->{out} =~ s/$seconds//;
    is("$run->{out}$run->{err}", $whole->{out} . $whole->{err},
        'parts make a whole');
    is(() = get("$dir/parts") =~ /^\{"gamma"/mg, 3, 'nothing is done again');
    compare_folds($whole, $case) unless "@$case" =~ /loo/;
    unlink "$dir/log";
}

# ---- Stopped at a third ----

# One thread has one gamma at a time: what the log has not is all that is lost.
for my $signal (qw(TERM KILL)) {
    my @grid = (qw(-j 1 -v 10 -g 2^-9:2^-1:x2 -c 0.1:1000:x10 --log));
    my $whole = train(@grid, "$dir/whole.$signal", $data, "$dir/plain");
    my $run = start([ 'klr-train', @grid, "$dir/$signal", $data,
            "$dir/stopped" ]);
    wait_until($run, sub { -e "$dir/$signal" && lines("$dir/$signal") > 3 });
    kill $signal, $run->{pid};
    finish($run);
    my $count = lines("$dir/$signal");
    ok($count > 3 && $count < 10 && !-e "$dir/stopped",
        "SIG$signal after " . ($count - 1) . ' of 9 gammas');
    my $again = run([ 'klr-train', @grid, "$dir/$signal", '--resume', $data,
            "$dir/model" ]);
    is($again->{out}, $whole->{out}, 'the same output');
    is(get("$dir/model"), get("$dir/plain"), 'the same model');
    like($again->{err}, qr/^klr-train: \Q$dir\/$signal\E has \d of 9 gammas$/m,
        'what is there is told');
    is(() = get("$dir/$signal") =~ /^\{"gamma"/mg, 9, 'nothing is done twice');
}

# ---- Pairs of classes of a training ----

my $four = put("$dir/four", clusters(seed => 5, labels => [ 3, 1, 4, 1, 5 ],
    n => 90, d => 4, zeros => 0.2));
for my $case ([qw(-s klr)], [qw(-s svm -b 1 -c 2)], [qw(-s svm -c 1,20)],
    [qw(-s kfd -c 1,10)], [qw(--multiclass ddag --scale standard --balance)],
    [qw(-s sklr -l 0.1c --link checked)], [qw(-s ivm)], [qw(-s lhalf)])
{
    unlink glob "$dir/plain* $dir/model* $dir/kept $dir/pair.*";
    my $models = sub { join '', map { get($_) } sort glob "$dir/$_[0]*" };
    my $plain = train(@$case, '--json', $four, "$dir/plain");
    my $whole = train(@$case, '--json', '--log', "$dir/kept", $four, "$dir/model");
    my $told = qr/"seconds": .*|"file": "[^"]*"|"model": "[^"]*"|"kernel_evals": \d+/;
    $_->{out} =~ s/$told//g for $plain, $whole;
    is("$whole->{exit}$whole->{err}$whole->{out}",
        "0$plain->{err}$plain->{out}", "the same with a log: @$case");
    is($models->('model'), $models->('plain'), 'the same model');
    my ($head, @pair) = lines("$dir/kept");
    is_deeply([ sort map { JSON::PP::decode_json($_)->{pair} } @pair ],
        [ 1 .. 6 ], 'a line for each pair');
    for my $p (1 .. 6) {
        my $run = train(@$case, '--part', "$dir/pair.$p", '--only-pair', $p, $four);
        is("$run->{exit}$run->{out}$run->{err}", 0, 'a pair says nothing');
    }
    for my $kept ($head . $pair[2] . substr($pair[0], 0, -9),
        $head . $pair[4] . $pair[1] . $pair[4], join('', map { get("$dir/pair.$_") }
            6, 2, 5, 3, 1, 4))
    {
        put("$dir/cut", $kept);
        unlink glob "$dir/model*";
        my $run = train(@$case, qw(--json -j 2 --resume --log), "$dir/cut", $four,
            "$dir/model");
        $run->{out} =~ s/$told//g;
        is("$run->{exit}$run->{err}$run->{out}",
            "0$whole->{err}$whole->{out}", 'pairs make a whole');
        is($models->('model'), $models->('plain'), 'with its model');
        is(() = get("$dir/cut") =~ /"pair"/g, 6 + ($kept =~ /(\Q$pair[4]\E).*\1/s),
            'nothing is done again');
    }
}
my @pairs = (qw(-c 1 -g 0.5 --log), "$dir/pairs");
train(@pairs, $four, "$dir/plain");
my $pairs = get("$dir/pairs");
is(train(qw(-c 1 -g 0.6 --resume --log), "$dir/pairs", $four, "$dir/model")->{exit},
    0, 'another gamma');
is(() = get("$dir/pairs") =~ /"gamma": 0.6/g, 6, 'has pairs of its own');
for my $case ([ '"numbers": \[\d+', '"numbers": [7', 'not the numbers of a pair' ],
    [ '"numbers": \[(?:[^,]+, ){3}\K0', '9', 'not the numbers of a pair' ],
    [ '"numbers": \[(?:[^,]+, ){10}\K[^,]+', 'null', 'not the numbers of a pair' ],
    [ '"numbers": \[(?:[^,]+, ){19}\K0', '0.5', 'not the coefficients of a pair' ],
    [ '"numbers": \[(?:[^,]+, ){19}\K0', '2', 'not the coefficients of a pair' ],
    [ '"numbers": \[(?:[^,]+, ){20}\K[^,]+', 'null', 'not the coefficients' ],
    [ ', [^,]+(?=\], "report")', '', 'not the coefficients of a pair' ],
    [ '"numbers": \[', '"numbers": [x', 'pairs:2: not a line' ],
    [ '"pair": \d', '"pair": 0', 'pairs:2: not a line' ],
    [ '"c": 1,', '"c": 2,', 'pairs:2: not a line' ])
{
    my ($pattern, $text, $message) = @$case;
    put("$dir/pairs", $pairs =~ s/$pattern/$text/r);
    my $run = train(@pairs, '--resume', $four, "$dir/none");
    like("$run->{exit}$run->{err}", qr/^1klr-train: .*\Q$message/,
        "$message: $text");
}
put("$dir/pairs", $pairs);
like(train(@pairs, qw(-c 2 --resume), $four, "$dir/none")->{err},
    qr/pairs:1: the log is of another problem: cost is 1, here 2/, 'another C');
ok(!-e "$dir/none", 'no model of such pairs');
my $part = train(qw(-s svm -c 1e4 -e 1e-9 -g 1e-3 --time-limit 1e-6 --only-pair 2
        --part), "$dir/part", $four);
is("$part->{exit}$part->{out}", 1, 'a pair that is not solved');
unlike(get("$dir/part"), qr/"pair"/, 'is not kept');

# ---- Refused ----

my @grid = qw(-v 3 -c 1,10 -g 0.1,1);
train(@grid, '--log', "$dir/log", $data, '/dev/null');
my $log = get("$dir/log");
put("$dir/weights", join '', map {"$_\n"} 1 .. 270);
put("$dir/other", get($data) =~ s/1:0.708333/1:0.7/r);
put("$dir/fewer", get($data) =~ s/\A.*\n//r);
for my $case ([ 'seed is 1, here 2', '--seed', 2 ],
    [ 'validate is 3, here 4', '-v', 4 ],
    [ 'cost is 1,10, here 1,20', '-c', '1,20' ],
    [ 'model is klr, here svm', '-s', 'svm' ],
    [ 'kernel is rbf, here laplacian', '-t', 'laplacian' ],
    [ 'scale is none, here minmax', '--scale', 'minmax' ],
    [ 'balance is not given, here true', '--balance' ],
    [ '-w1 is not given, here 2', '-w1', 2 ],
    [ qr/weights is not given, here [0-9a-f]{16}/, '--weights', "$dir/weights" ])
{
    my ($difference, @option) = @$case;
    my $run = train(@grid, @option, '--log', "$dir/log", '--resume', $data,
        '/dev/null');
    my $refusal = qr/1 klr-train: \Q$dir\E\/log:1: the log is of another problem/;
    like("$run->{exit} $run->{err}", qr/\A$refusal: $difference\n\z/,
        "@option");
}
for my $case ([ 'other', 'data is ' ], [ 'fewer', 'n is 270, here 269' ]) {
    my $run = train(@grid, '--log', "$dir/log", '--resume', "$dir/$case->[0]",
        '/dev/null');
    like($run->{err}, qr/log:1: the log is of another problem: $case->[1]/,
        $case->[1]);
}
is(get("$dir/log"), $log, 'the log stays as it was');
is(train(@grid, '-m', 50, '-j', 2, '--metric', 'auc', '--log', "$dir/log",
        '--resume', $data, '/dev/null')->{exit}, 0,
    'memory, threads and metric are free');
for my $case ([ '.*\n\K\{"gamma.*\n', "x\n", 'log:2: not a line' ],
    [ '"accuracy": [0-9.]+, "log', '"accuracy": x, "log', 'log:2: not a line' ],
    [ '"report": \[0', '"report": [9', 'log:2: not a line' ],
    [ '"report": \[', '"report": [-1, ', 'log:2: not a line' ],
    [ '\A.*', 'label', 'log:1: not a log of klr-train' ])
{
    my ($pattern, $text, $message) = @$case;
    put("$dir/log", $log =~ s/$pattern/$text/r);
    like(train(@grid, '--log', "$dir/log", '--resume', $data, '/dev/null')->{err},
        qr/\Q$message/, "$message: $text");
}
for my $text ('one line', substr($log, 0, 20) . 'x') {
    put("$dir/precious", $text);
    for my $option ([ '--log', "$dir/precious", '--resume' ],
        [ '--part', "$dir/precious" ])
    {
        like(train(@grid, @$option, $data)->{err},
            qr/precious:1: not a log of klr-train$/, "@$option: no log");
        is(get("$dir/precious"), $text, 'what is no log is left alone');
    }
}

# A fold that is not as it should be.
train(@grid, '--part', "$dir/fold", '--only-fold', 2, $data);
my $fold = get("$dir/fold");
for my $case ([ '"sums": \[', '"sums": [1, ', 'not the sums of a fold' ],
    [ '"sums": \[', '"sums": [x, ', 'fold:2: not a line' ],
    [ '"sums": \[\d+', '"sums": [0.5', 'not the sums of a fold' ],
    [ '"sums": \[\d+', '"sums": [null', 'fold:2: not a line' ],
    [ '"fold": 2', '"fold": 4', 'fold:2: not a line' ],
    [ '"lambda_number": 1', '"lambda_number": 0', 'fold:2: not a line' ],
    [ '"c": 10', '"c": 11', 'fold:2: not a line' ])
{
    my ($pattern, $text, $message) = @$case;
    put("$dir/fold", $fold =~ s/$pattern/$text/r);
    my $run = train(@grid, '--log', "$dir/fold", '--resume', $data, "$dir/none");
    like("$run->{exit}$run->{err}", qr/^1klr-train: .*\Q$message/,
        "$message: $text");
}
ok(!-e "$dir/none", 'no model of such folds');

# Of another system: carriage returns.
put("$dir/crlf", join '', map {s/\n/\r\n/r} (split /^/, $log)[ 0, 1 ]);
is(train(@grid, '--log', "$dir/crlf", '--resume', $data, '/dev/null')->{exit},
    0, 'carriage returns');
is(get("$dir/crlf") =~ s/\r//gr, $log, 'go on in lines of their own');

for my $case ([ 'there is a log already', @grid, '--log', "$dir/log" ],
    [ 'or the pairs of classes of a training', qw(--multiclass ova --log), "$dir/new" ],
    [ 'or the pairs of classes of a training', qw(--basis 9 --log), "$dir/new" ],
    [ 'or the pairs of classes of a training', qw(-s sklr -l 1 --lambda-bound --log), "$dir/new" ],
    [ 'or the pairs of classes of a training', qw(--check-kernel --log), "$dir/new" ],
    [ 'of a grid (-v), or with --only-pair', '--part', "$dir/new" ],
    [ 'without -v, for a --part', @grid, qw(--only-pair 1 --part), "$dir/new" ],
    [ 'without -v, for a --part', qw(--only-pair 1) ],
    [ 'there is no pair 2: of 2 classes there are 1', qw(--only-pair 2 --part),
        "$dir/lone" ],
    [ 'one point alone', qw(-v 3 --log), "$dir/new" ],
    [ 'goes on from a --log', @grid, '--resume' ],
    [ 'no other log', @grid, '--part', "$dir/new", '--log', "$dir/log" ],
    [ 'no output', @grid, '--json', '--part', "$dir/new" ],
    [ 'a log is a file', @grid, '--log', '/dev/null' ],
    [ 'it is a fold of -v, for a --part', @grid, '--only-fold', 1 ],
    [ 'a fold of -v', qw(--loo -c 1,2 --only-fold 1 --part), "$dir/new" ],
    [ 'there is no fold 4: there are 3', @grid, qw(--only-fold 4 --part),
        "$dir/none" ],
    [ 'a log is a file', @grid, '--log', '-' ],
    [ 'cannot write: Is a directory', @grid, '--log', $dir ])
{
    my ($message, @option) = @$case;
    my $run = train(@option, $data);
    like($run->{err}, qr/\Q$message/, $message);
    isnt($run->{exit}, 0, 'refused');
}
like(train(@grid, '--part', "$dir/new", $data, "$dir/m")->{err},
    qr/there is no model/, 'a part has no model');
ok(!-e "$dir/new", 'nothing is left behind');

done_testing();
