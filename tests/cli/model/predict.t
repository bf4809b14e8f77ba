# SPDX-License-Identifier: BSD-3-Clause
#
# klr-predict: layouts, metrics, odd test sets, pipes and failures; and its
# answers for svm-train's models against svm-predict's.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Cwd 'abs_path';
use Test::More;
use IO::Select;
use IPC::Open3;
use IO::Handle;
use List::Util qw(max sum);
use JSON::PP ();
use Symbol 'gensym';
use POSIX qw(mkfifo);
use KLR;
use Judge;

my $dir = scratch();

# f(x) = x_1 - 2 x_2 - 0.25; p = sigma(f); classes 5 and -1.
put("$dir/klr", <<'MODEL');
svm_type c_svc
kernel_type linear
nr_class 2
total_sv 2
rho 0.25
label 5 -1
probA -1
probB 0
nr_sv 1 1
SV
1 1:1
-1 2:2
klr_format 1
model klr
solver smo
status converged
eps 0.001
cost 1
iterations 2
end
MODEL
put("$dir/svm", get("$dir/klr") =~ s/prob.*\n//gr =~ s/model klr/model svm/r);
put("$dir/test", "5 1:1\n-1 2:1 # one\n5\n\n-1 1:0.25\n");
my $predictions = <<'END';
labels 5 -1
5 0.679178699 0.320821301
-1 0.0953494649 0.904650535
-1 0.437823499 0.562176501
5 0.5 0.5
END
my $accuracy = "Accuracy = 50% (2/4) (classification)\n";
my @losses = map { -log } 0.679178699, 0.904650535, 0.437823499, 0.5;
my $calibration = (1 - 0.679178699 + 1 - 0.904650535 + 0.562176501 + 0.5) / 4;
my @errors = map { (1 - $_)**2 } 0.679178699, 0.904650535, 0.437823499, 0.5;
my $metrics = $accuracy . sprintf "Log loss = %.6g\nBrier score = %.6g\n"
    . "AUC = 0.75\n", sum(@losses) / 4, sum(@errors) / 4;

# Numbers of more than nine digits rounded: the last ones may differ between
# instruction sets.
sub nine
{
    my ($text) = @_;
    return $text =~ s/\b0\.\d{10,}/sprintf '%.9g', $&/ger;
}

sub predict
{
    my ($want, $name, @command) = @_;
    my $option = ref $command[-1] ? pop @command : {};
    my $run = run([ 'klr-predict', @command ], cwd => $dir, %$option);
    is("$run->{exit}|" . nine($run->{out}) . "|$run->{err}", $want, $name);
    return;
}

# ---- layouts ----

predict("0|$predictions|$metrics", 'predictions on stdout, metrics on stderr',
    'test', 'klr');
predict("0|$predictions|$metrics", "predictions on $_, metrics on stderr",
    'test', 'klr', $_) for '-', '/dev/stdout', '/dev/fd/1';
predict("0|$metrics|", 'predictions in a file, metrics on stdout', 'test',
    'klr',
    'out');
is(nine(get("$dir/out")), $predictions, 'the file');
predict("0|$predictions|", '-q', '-q', 'test', 'klr', '-');
predict("0|5\n-1\n-1\n5\n|$metrics", '-b 0: the same labels', '-b', 0, 'test',
    'klr');
predict("0|5 0.75\n-1 -2.25\n-1 -0.25\n5 0\n|$metrics", '--decision',
    '--decision', 'test', 'klr');
predict("0|5\n-1\n-1\n-1\n|Accuracy = 75% (3/4) (classification)\nAUC = 0.75\n",
    'without probabilities: labels', 'test', 'svm');
predict("0|5 0.75\n-1 -2.25\n-1 -0.25\n-1 0\n|Accuracy = 75% (3/4)"
        . " (classification)\nAUC = 0.75\n",
    '--decision of a model without probabilities', '--decision', 'test', 'svm');
predict("2||klr-predict: -b 1: the model has no probabilities\n",
    '-b 1 of a model without', '-b', 1, 'test', 'svm');
predict("2||klr-predict: --decision and -b 1 exclude each other\n",
    '--decision -b 1', '--decision', '-b', 1, 'test', 'klr');

# Log-odds order the examples, not f: here they are f - f^2 / 2 of f = 0.75,
# 7.75 and 1.75, of which the second is least.
put("$dir/falling", get("$dir/klr") =~ s/c_svc/klr/r =~ s/^rho/multiclass ovo\n$&/mr
    =~ s/^probA.*\nprobB.*\n/link gaussian\nprobA -1\nprobB 0\nprobC 0.5\n/mr);
like(run([ 'klr-predict', '-', 'falling', 'out' ], cwd => $dir,
        stdin => "5 1:1\n-1 1:8\n5 1:2\n")->{out}, qr/^AUC = 1$/m,
    'AUC of a link that falls somewhere');

# ---- JSON ----

predict("2||klr-predict: --json and the predictions cannot both go to stdout\n",
    '--json without a file', '--json', 'test', 'klr');
my $run = run([ 'klr-predict', '--json', 'test', 'klr', 'out' ], cwd => $dir);
my $json = JSON::PP::decode_json($run->{out});
ok($run->{out} =~ /\A[^\n]*\n\z/ && $json->{rows} == 4 && $json->{labelled} == 4
        && $json->{correct} == 2 && $json->{accuracy} == 0.5
        && abs($json->{log_loss} - sum(@losses) / 4) < 1e-8
        && abs($json->{brier} - sum(@errors) / 4) < 1e-8
        && $json->{auc} == 0.75 && $json->{balanced_accuracy} == 0.5
        && $json->{f1} == 0.5 && $json->{mcc} == 0
        && abs($json->{ece} - $calibration) < 1e-9,
    'metrics as a line of JSON')
    or diag($run->{out}, $run->{err});
is_deeply([ @$json{qw(labels confusion other_labels)} ],
    [ [ 5, -1 ], [ [ 1, 1 ], [ 1, 1 ] ], 0 ], 'with the confusion matrix');
$run = run([ 'klr-predict', '--json', '-q', '--unlabelled', '-', 'klr', 'out' ],
    cwd => $dir, stdin => "1:1\n");
is($run->{out}, '{"rows": 1, "labelled": 0, "correct": 0, "accuracy": null,'
    . ' "log_loss": null, "brier": null, "auc": null,'
    . ' "balanced_accuracy": null, "f1": null, "mcc": null, "ece": null,'
    . ' "unseen_rows": 0, "far": null,'
    . ' "labels": [5, -1], "confusion": [[0, 0], [0, 0]],'
    . qq( "other_labels": 0, "warnings": []}\n), 'nothing known');

# ---- All metrics ----

# Answers of probability 0.679, 0.905, 0.562 and 0.5, each in an interval of its
# own, the first two right.
sub matrix
{
    my $header =
        'Confusion matrix, true labels in rows, predicted ones in columns';
    return join '', map {"$_\n"} $header,
        map { join '  ', map { sprintf '%5s', $_ } @$_ } @_;
}
my $more = "Balanced accuracy = 50%\nF1 = 0.5\nMCC = 0\nECE = "
    . sprintf("%.6g\n", $calibration)
    . matrix([ '', 5, -1 ], [ 5, 1, 1 ], [ -1, 1, 1 ]);
predict("0|$metrics$more|", '--metrics', '--metrics', 'test', 'klr', 'out');
predict("0|$predictions|$metrics$more", '--metrics on stderr', '--metrics',
    'test', 'klr');
predict("0|5\n-1\n-1\n-1\n|Accuracy = 75% (3/4) (classification)\nAUC = 0.75\n"
        . "Balanced accuracy = 75%\nF1 = 0.666667\nMCC = 0.57735\n"
        . matrix([ '', 5, -1 ], [ 5, 1, 1 ], [ -1, 0, 2 ]),
    '--metrics without probabilities', '--metrics', 'test', 'svm');
predict("0|-1\n|Accuracy = 100% (1/1) (classification)\n"
        . "Balanced accuracy = 100%\n"
        . matrix([ '', 5, -1 ], [ 5, 0, 0 ], [ -1, 0, 1 ]),
    'what is not defined is left out', '--metrics', '-', 'svm',
    { stdin => "-1 2:1\n" });
$run = run([ 'klr-predict', '--metrics', '-', 'svm', 'out' ], cwd => $dir,
    stdin => "7 1:1\n5 1:1\n8 2:1\n8 1:1\n");
like($run->{out}, qr/^other      2      1$/m, 'labels that the model lacks');
predict("2||klr-predict: --metrics and -q exclude each other\n",
    '--metrics -q', '--metrics', '-q', 'test', 'klr');

# ---- odd test sets ----

predict("0|5 0.75\n-1 -2.25\n5 0.75\n|Accuracy = 100% (1/1) (classification)\n"
        . "Log loss = " . sprintf('%.6g', $losses[0]) . "\nBrier score = "
        . sprintf('%.6g', $errors[0]) . "\n",
    '--unlabelled, rows with and without label', '--unlabelled', '--decision',
    '-', 'klr', { stdin => "1:1\n2:1\n5 1:1\n" });
predict("1|labels 5 -1\n5 0.679178699 0.320821301\n|klr-predict: stdin:2:1:"
        . " missing label before '1:1': --unlabelled reads such rows\n",
    'unlabelled rows have to be announced', '-', 'klr',
    { stdin => "5 1:1\n1:1\n" });
predict("0|labels 5 -1\n|klr-predict: warning: stdin: no rows\n", 'no rows',
    '-',
    'klr', { stdin => "# nothing\n\n" });
predict("0|-1\n-1\n|klr-predict: warning: stdin: examples with a label that "
        . "the model lacks: 1\nAccuracy = 50% (1/2) (classification)\n"
        . "Log loss = 0.575939\nBrier score = 0.191689\n",
    'labels that the model lacks are wrong', '-b', 0, '-', 'klr',
    { stdin => "7 2:0\n-1\n" });
$run = run([ 'klr-predict', '-q', '-', 'svm' ], cwd => $dir,
    stdin => "5 qid:3 1:1 2147483647:1\n-1 1:0");
is("$run->{exit} $run->{out}$run->{err}",
    "0 5\n-1\nklr-predict: warning: stdin: qid is ignored\n",
    'qid, a far feature, no last line feed');

# A precomputed kernel: a column that a row leaves out is 0, one that all leave
# out may have been cut off.
put("$dir/gram", "1 0:1 1:2 2:0 3:1\n-1 0:2 1:0 2:2 3:0\n1 0:3 1:1 3:2\n");
run([ qw(klr-train -q -t precomputed gram m4) ], cwd => $dir);
for my $case (
    [ '0:2 2:9 3:0', '' ],
    [ '0:2 2:9', 'klr-predict: warning: stdin: no row has a column beyond 2, '
            . "but the model asks for those up to 3: they count as 0\n" ],
)
{
    my ($row, $warning) = @$case;
    predict("0|1\n-1\n|$warning", "the last row is $row", '-b', 0,
        '--unlabelled', '-', 'm4', { stdin => "0:1 1:2\n$row\n" });
}

# Features that only the one has, more often than by chance.
{
    my @rows = split /^/, get('heart_scale');
    put("$dir/heart", join '', @rows);
    run([ qw(klr-train -q -g 0.05 heart heart.model) ], cwd => $dir);
    my $knows = 'klr-predict: warning: matched: no row has features that the model '
        . 'knows';
    my $has = 'klr-predict: warning: matched: rows have features that the model '
        . 'does not know';
    my $warns = sub {
        my ($says, $name, @test) = @_;
        put("$dir/matched", join '', @test);
        is(run([ qw(klr-predict -q matched heart.model out) ], cwd => $dir)->{err},
            $says, $name);
    };
    $warns->('', 'the features of the model', @rows);
    $warns->("$knows: 2, the first is 4\n", 'two are missing',
        map {s/ [48]:\S+//gr} @rows);
    $warns->("$has: 1, the first is 20\n", 'one is new',
        map {s/\n/ 20:1\n/r} @rows);
    $warns->("$knows: 1, the first is 1\n$has: 1, the first is 14\n",
        'indices that are one too large',
        map {s/(\d+):/($1 + 1) . ':'/ger} @rows);
    $warns->('', 'one row may lack what it likes', "1 2:1\n");
    $warns->('', 'values of 0 are none', map {s/\n/ 20:0\n/r} @rows);
    $warns->('', 'a rare one is no sign', $rows[0] =~ s/\n/ 20:1\n/r,
        @rows[ 1 .. 200 ]);
    run([ qw(klr-train -q --scale standard heart heart.model) ], cwd => $dir);
    $warns->('', 'a scaling tells nothing', map {s/ 4:\S+//r} @rows);
}

# ---- failures ----

put("$dir/swapped", "5 1:1\n-1 2:1\n");
predict("1||klr-predict: swapped:1:1: unknown key '5': not a model of klr-train or "
        . "svm-train (klr is a model; the order is test_set model [output])\n",
    'the wrong order', 'klr', 'swapped');
predict("1||klr-predict: swapped:1:1: unknown key '5': not a model of klr-train or "
        . "svm-train\n", 'no model at all', 'swapped', 'swapped');
put("$dir/out", "old\n");
put("$dir/bad", "5 1:1\n-1 2:1\n5 1:x\n5 1:1\n");
predict("1||klr-predict: bad:3:3: feature '1:x': not a number\n",
    'bad input', 'bad', 'klr', 'out');
is(get("$dir/out"), "old\n", 'leaves the old predictions alone');
predict("1||klr-predict: bad:3:3: feature '1:x': not a number\n",
    'bad input', 'bad', 'klr', 'new');
predict("1|5\n-1\n|klr-predict: bad:3:3: feature '1:x': not a number\n",
    'a pipe gets the rows before it', '-b', 0, 'bad', 'klr');
my $program = abs_path(bin('klr-predict'));
$run = run([ 'sh', '-c', 'exec "$0" -b 0 bad klr 2>&1', $program ],
    cwd => $dir);
is($run->{out},
    "5\n-1\nklr-predict: bad:3:3: feature '1:x': not a number\n",
    'and before the message');
predict("1||klr-predict: none: cannot open: No such file or directory\n",
    'no test set', 'none', 'klr', 'new');
predict("1||klr-predict: none: cannot open: No such file or directory\n",
    'no model', 'test', 'none', 'new');
predict("1||klr-predict: none/new: cannot write: No such file or directory\n",
    'no folder', 'test', 'klr', 'none/new');
predict("2||klr-predict: test set and model cannot both come from stdin\n",
    'one stdin', '-', '-');
put("$dir/huge", get("$dir/klr") =~ s/^1 1:1$/1e308 1:1/mr);
predict("1||klr-predict: stdin:3: the decision value overflows\n",
    'a decision value that overflows', '-', 'huge', 'new',
    { stdin => "5 1:1\n\n5 1:10\n5 1:1\n" });
predict("1|5\n5\n|klr-predict: stdin:3: the decision value overflows\n",
    'the rows before it', '-b', 0, '-', 'huge',
    { stdin => "5 1:1\n5 1:1\n5 1:10\n5 1:1\n5 1:x\n" });
ok(!-e "$dir/new" && !glob("$dir/.klr*"), 'nothing is left behind');
SKIP: {
    skip 'no /dev/full', 3 unless -w '/dev/full';
    my $full = 'cannot write: No space left on device';
    predict("1||klr-predict: /dev/full: $full\n", 'a full disk', 'test', 'klr',
        '/dev/full');
    predict("1||klr-predict: stdout: $full\n",
        'stdout on a full disk', 'test', 'klr', { stdout_file => '/dev/full' });
    my $metrics = run([ 'klr-predict', 'test', 'klr', 'out' ], cwd => $dir,
        stdout_file => '/dev/full');
    is("$metrics->{exit} $metrics->{err}", "1 klr-predict: stdout: $full\n",
        'metrics on a full disk');
}

# A file that stdout is written to is not written anew by its name.
put("$dir/stdout", '');
my $twice = run([ 'klr-predict', 'test', 'klr', '/dev/stdout' ], cwd => $dir,
    stdout_file => "$dir/stdout");
my $named = run([ 'klr-predict', 'test', 'klr', 'new' ], cwd => $dir);
is("$twice->{exit} " . get("$dir/stdout"), '0 ' . get("$dir/new"),
    'predictions in a file that stdout is written to');
is($twice->{err}, $named->{out}, 'and metrics on stderr');
unlink "$dir/new";

# ---- pipes ----

# Rows go out before the program waits for more.
sub converse
{
    my ($pid, $in, $out) = @_;
    local $SIG{PIPE} = 'IGNORE';
    my $ready = IO::Select->new($out);
    my ($text, $good) = ('', 1);
    for my $case ([ "5 1:1\n", 2 ], [ "-1 2:1\n5\n\n# waits\n \t\r\n", 4 ],
        [ "-1 1:0.2", 4 ],
        [ "5 7:3\n", 5 ])
    {
        syswrite $in, $case->[0];
        while (($text =~ tr/\n//) < $case->[1]) {
            last unless $ready->can_read(30) && sysread $out, $text, 4096,
                length $text;
        }
        $good &&= ($text =~ tr/\n//) == $case->[1];
    }
    ok($good && nine($text) eq $predictions,
        'a row in, a row out, before the end')
        or diag($text);
    close $in;
    ok(!sysread($out, $text, 4096), 'the end comes with the end of the input');
    waitpid $pid, 0;
    is($?, 0, 'and with success');
    return;
}
my ($in, $out, $err) = (undef, undef, gensym);
my $pid = open3($in, $out, $err, bin('klr-predict'), '-q', '-', "$dir/klr");
converse($pid, $in, $out);

# Whoever reads has left.
$err = gensym;
$pid = open3($in, $out, $err, bin('klr-predict'), '-', "$dir/klr");
close $out;
{
    local $SIG{PIPE} = 'IGNORE';
    syswrite $in, "5 1:1\n";
}
my $message = <$err> // '';
close $in;
waitpid $pid, 0;
is(($? >> 8) . " $message", '141 ', 'a closed pipe: the end, quietly');
for my $command ('klr-train --help', 'klr-scale heart_scale',
    "klr-predict heart_scale $dir/klr")
{
    my ($name, @operands) = split / /, $command;
    pipe my $reader, my $writer or die "pipe: $!\n";
    close $reader; # before anything is written
    my ($none, $said) = (undef, gensym);
    my $to = '>&' . fileno $writer;
    my $child = open3($none, $to, $said, bin($name), @operands);
    my $words = join '', <$said>;
    waitpid $child, 0;
    is(($? >> 8) . " $words", '141 ', "$name: nothing is said into one");
}

# Many rows, more than any batch; the same whatever the blocks.
my $state = 1;
my $many = join '', map {
    $state = ($state * 1103515245 + 12345) % 2147483648;
    sprintf "%d 1:%.4f 2:%.4f\n", $state % 3 ? 5 : -1, $state / 2**30 - 1,
        $state % 1000 / 1000
} 1 .. 20000;
put("$dir/many", $many);
$run = run([ 'klr-predict', '--decision', 'many', 'klr' ], cwd => $dir);
my (@f, $apart) = map { (split)[1] } split /\n/, $run->{out};
my @x = map { [ map { (split /:/)[1] // 0 } split ] } split /\n/, $many;
$apart = max map { abs($f[$_] - ($x[$_][1] - 2 * $x[$_][2] - 0.25)) } 0 .. $#x;
ok(@f == 20000 && $apart < 1e-12, "20000 rows: decision values within $apart");
my $slow = run([ 'sh', '-c',
        'dd if=many bs=997 2>dd | "$0" --decision - klr', $program ],
    cwd => $dir);
is($slow->{out}, $run->{out}, 'the same through a pipe in pieces');

# Many support vectors: entries of K may be floats, but are for all rows or
# none.
my $random = uniform(7);
my $vectors = join '', map {
    join(' ', 2 * $random->() - 1,
        map { sprintf '%d:%.3f', $_, $random->() } 1 .. 4)
        . "\n"
} 1 .. 500;
my $header = get("$dir/klr") =~ s/SV\n.*//sr;
$header =~ s/linear/rbf\ngamma 0.7/;
$header =~ s/total_sv 2/total_sv 500/;
$header =~ s/nr_sv 1 1/nr_sv 200 300/;
put("$dir/rbf", "${header}SV\n$vectors");
$run = run([ 'klr-predict', '--decision', '-j', 1, 'many', 'rbf' ],
    cwd => $dir);
my @beta = map { [ split /[ :]/ ] } split /\n/, $vectors;
@f = map { (split)[1] } split /\n/, $run->{out};
$apart = max map {
    my ($x, $f) = ($x[$_], -0.25);
    for my $v (@beta) {
        my ($beta, undef, $p, undef, $q, undef, $r, undef, $s) = @$v;
        my $distance = ($x->[1] - $p)**2 + ($x->[2] - $q)**2 + $r**2 + $s**2;
        $f += $beta * exp(-0.7 * $distance);
    }
    abs($f[$_] - $f)
} map { 199 * $_ } 0 .. 100;
ok(@f == 20000 && $apart < 1e-5, "500 vectors: decision values within $apart");
$slow = run([ 'sh', '-c',
        'dd if=many bs=97 2>dd | "$0" --decision -j 3 - rbf', $program ],
    cwd => $dir);
ok(length $run->{out} && $slow->{out} eq $run->{out},
    'the same bits through a pipe in pieces, by three threads');

# ---- against svm-predict ----

# Rows of [label, numbers...].
sub table
{
    return map { [ split ' ' ] } grep { !/^labels/ } split /\n/, get($_[0]);
}

sub compare
{
    my ($name, $data, $test, $probable, @options) = @_;
    my $peer = run([ peer('svm-train'), '-q', -b => $probable, @options, $data,
            "$dir/model" ]);
    BAIL_OUT("svm-train: $peer->{err}") if $peer->{exit};
    $peer = run([ peer('svm-predict'), -b => $probable, $test, "$dir/model",
            "$dir/theirs" ]);
    my $ours = run([ 'klr-predict', -b => $probable, $test, "$dir/model",
            "$dir/ours" ]);
    is($ours->{exit}, 0, "$name: loads") or diag($ours->{err});
    is((split /\n/, $ours->{out})[0], (split /\n/, $peer->{out})[0],
        "$name: accuracy") if !$probable || $name =~ /^two/;
    my @ours = table("$dir/ours");
    my @theirs = table("$dir/theirs");
    my ($largest, $labels) = (0, abs(@ours - @theirs));
    for my $i (0 .. $#ours) {
        my ($label, @p) = @{ $ours[$i] };
        my ($other, @q) = @{ $theirs[$i] };
        my @sorted = sort { $b <=> $a } @q;
        $largest = max $largest, map { abs($p[$_] - $q[$_]) } 0 .. $#q;
        $labels++
            if $label != $other && (!@q || $sorted[0] - $sorted[1] > 1e-2);
    }
    my $bound = $name =~ /^two/ ? 1.01e-6 : 5e-3;
    is($labels, 0, "$name: labels of " . @ours . ' rows');
    ok($largest <= $bound, "$name: probabilities within $largest")
        if $probable;
    return;
}

SKIP: {
    skip 'svm-train and svm-predict are not installed', 1
        unless peer('svm-train') && peer('svm-predict');
    my %labels = (two => [ -3, 8, 8 ], three => [ 4, 1, -2, 1 ]);
    for my $set (sort keys %labels) {
        put("$dir/train", clusters(seed => 31, labels => $labels{$set},
            n => 150,
                d => 6, zeros => 0.3));
        put("$dir/other", clusters(seed => 32, labels => $labels{$set},
            n => 700,
                d => 8, zeros => 0.3));
        for my $kernel ([ 't=0', -t => 0 ],
            [ 't=1', -t => 1, -g => 0.5, -r => 1, -d => 2 ],
            [ 't=2', -t => 2, -g => 0.5 ],
            [ 't=3', -t => 3, -g => 0.125, -r => 0.25 ])
        {
            my ($t, @options) = @$kernel;
            compare("$set classes, $t, -b $_", "$dir/train", "$dir/other", $_,
                @options) for 0, 1;
        }
    }
    for my $case ([ glass => 0, 1 ], [ iris => 0, 1 ], [ segment => 0 ]) {
        my ($name, @probability) = @$case;
        my $path = data("$name.svm") // next;
        compare("$name, -b $_", $path, $path, $_) for @probability;
    }
}

# On a terminal: how many rows have been read, as long as there is more to read;
# nothing of that stays, and nothing of it elsewhere.
sub on_terminal
{
    my ($command, $begin, $rows, $end, $what) = @_;
    my $in_terminal = 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) != 0)';
    unlink "$dir/pipe";
    mkfifo("$dir/pipe", 0600) or die "mkfifo: $!";
    my $run = start([ 'python3', '-c', $in_terminal, 'sh', '-c', $command ],
        env => { TERM => 'xterm' });
    open my $pipe, '+<', "$dir/pipe" or die "$dir/pipe: $!";
    $pipe->autoflush;
    print $pipe $begin;
    ok(wait_until($run, sub {
                print $pipe $rows;
                -e $run->{out_file} && get($run->{out_file}) =~ /\d $what/ }),
        "$what are counted");
    print $pipe $end;
    close $pipe;
    return finish($run)->{out};
}
SKIP: {
    skip 'there is no python3', 12 unless peer('python3');
    my $two = "5 1:1\n-1 2:1\n";
    my ($predict, $scale) = map { bin("klr-$_") } qw(predict scale);
    my $counts = qr/[\d.]+ s\e\[K/;
    run([ 'klr-scale', '-s', "$dir/range", 'heart_scale' ]);
    my $erased = qr/\r\e\[K/;
    like(on_terminal("$predict $dir/pipe $dir/klr $dir/output", '', $two, '',
            'rows'), qr/^(?:\rklr-predict: \d+ rows, $counts)+${erased}Accuracy/,
        'and the line goes');
    like(on_terminal("$predict $dir/test $dir/pipe $dir/output",
            "svm_type c_svc\nkernel_type linear\nnr_class 2\n"
                . "total_sv 100000000\nrho 0\nlabel 5 -1\n"
                . "nr_sv 50000000 50000000\nSV\n",
            "1 1:1\n1 1:2\n" x 10, "x\n", 'support vectors read'),
        qr/^(?:\rklr-predict: \d+ support [a-z ]+, $counts)+${erased}klr-predict:/,
        '... before an error, too');
    like(on_terminal("$scale $dir/pipe >$dir/output", '', $two, '',
            'rows read'), qr/^(?:\rklr-scale: \d+ rows [a-z]+, $counts)+$erased$/,
        'scaling');
    like(on_terminal("$scale -r $dir/range $dir/pipe >$dir/output", '', $two,
            '', 'rows scaled'), qr/$erased$/, 'by a range file');
    my $said = on_terminal("$scale $dir/pipe | cat", '', $two, '', 'rows read');
    unlike($said, qr/rows scaled/, 'not between rows that are shown');
    is(run([ 'klr-predict', '-', "$dir/klr", "$dir/output" ],
            stdin => $two x 100_000)->{err}, '', 'none elsewhere');
    is(run([ 'klr-scale', '-' ], stdin => $two x 100_000,
            stdout_file => "$dir/output")->{err}, '', '... by klr-scale');
}

done_testing();
