#!/usr/bin/perl
# SPDX-License-Identifier: BSD-3-Clause
#
# What is refused, by the exact message and exit status. Every case runs in a
# folder of its own, which must be as it was afterwards: a refused run leaves no
# model and no temporary file.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Cwd qw(abs_path);
use KLR;
use Test::More;

my $good = join '', map { ($_ % 2 ? '+1' : '-1') . " 1:$_ 2:0.5\n" } 1 .. 8;

my %usage = (
    train   => '(usage: klr-train [options] training_set [model])',
    predict => '(usage: klr-predict [options] test_set model [output])',
    scale   => '(usage: klr-scale [options] data)',
);

# A plain C-SVC as LIBSVM writes it, without probabilities, and its range file.
my $svm = <<'MODEL';
svm_type c_svc
kernel_type linear
nr_class 2
total_sv 2
rho 0
label 1 -1
nr_sv 1 1
SV
1 1:1
-1 1:-1
MODEL
my $ranges = "x\n-1 1\n1 1 8\n2 0 0.5\n";

# Run the command among the files, good data d, and what else there is.
sub refused
{
    my ($what, $command, $files, $exit, $message) = @_;
    my $dir = scratch();
    my %files = (d => $good, %$files);
    put("$dir/$_", $files{$_}) for keys %files;
    my $run = run($command, cwd => $dir);
    my $left = join ' ', sort map { s{.*/}{}r } glob "$dir/* $dir/.[!.]*";
    is($run->{err}, "$message\n", "$what: message");
    is("$run->{exit} $left $run->{out}",
        "$exit @{[join ' ', sort keys %files]} ",
        "$what: exit status, files, no output");
}

# ---- Lines of a data file ----

my $hint = ' (--string-labels reads names)';

my @lines = (
    # text of the second line, column, message
    ['x 1:1', 1, "label 'x': not a number$hint"],
    ['9007199254740993 1:1', 1,
     "label '9007199254740993': integers beyond 2^53 fall together$hint"],
    ['1x 1:1', 1, "label '1x': not a number$hint"],
    ['1:1 2:1', 1, "missing label before '1:1'"],
    ['  1:1', 3, "missing label before '1:1'"],
    ['nan 1:1', 1, "label 'nan': not a finite number$hint"],
    ['-inf 1:1', 1, "label '-inf': not a finite number$hint"],
    ['0x1 1:1', 1, "label '0x1': hexadecimal numbers are not read$hint"],
    ['1e999 1:1', 1, "label '1e999': number out of range$hint"],
    ['1 1:a', 3, "feature '1:a': not a number"],
    ['1 1:1x', 3, "feature '1:1x': not a number"],
    ['1 1:', 3, "feature '1:': missing value"],
    ['1 1: 2', 3, "feature '1:': missing value"],
    ['1 :1', 3, "feature ':1': missing index"],
    ['1 1', 3, "feature '1': not index:value"],
    ['1 1:1 x', 7, "feature 'x': not index:value"],
    ['1 1:1:1', 3, "feature '1:1:1': not a number"],
    ['1 1:nan', 3, "feature '1:nan': not a finite number"],
    ['1 1:-Infinity', 3, "feature '1:-Infinity': not a finite number"],
    ['1 1:1e400', 3, "feature '1:1e400': number out of range"],
    ['1 1:0x10', 3, "feature '1:0x10': hexadecimal numbers are not read"],
    ['1 0x1:1', 3, "feature '0x1:1': hexadecimal numbers are not read"],
    ['1 0:1 0:1', 7, "feature '0:1': repeated index"],
    ['1 +1:1', 3, "feature '+1:1': a sign before the index"],
    ['1 -1:1', 3, "feature '-1:1': negative index"],
    ['1 1.5:1', 3, "feature '1.5:1': the index is not a whole number"],
    ['1 a:1', 3, "feature 'a:1': the index is not a whole number"],
    ['1 2:1 1:1', 7, "feature '1:1': index after 2, but indices must ascend"],
    ['1 1:1 1:2', 7, "feature '1:2': repeated index"],
    ['1 2147483648:1', 3,
     "feature '2147483648:1': the index is beyond 2147483647"],
    ['1 99999999999999999999:1', 3,
     "feature '99999999999999999999:1': the index is beyond 2147483647"],
    ['1 qid:x 1:1', 3, "query id 'qid:x': not qid:NUMBER"],
    ['1 1:1 qid:3', 7, "query id 'qid:3': not behind a label"],
    ["1,0.5,0.25", 1,
     "token '1,0.5,0.25': commas or semicolons; is this a CSV file?"],
    ['1 1:0,5', 3, "token '1:0,5': a decimal comma; numbers have a point, 0.5"],
    ['1,5 1,5', 1, "token '1,5': a decimal comma; numbers have a point, 0.5"],
    (map { ["$_ 1:1", 1, "token '$_': a comma; a line has one label, and "
            . 'numbers have a point, 0.5'] } '1,5', '1,2,5', 'a,b', '0.5,'),
    ["1,5", 1, "token '1,5': commas or semicolons; is this a CSV file?"],
    ['svm_type klr', 1, "token 'svm_type': this is a model, not a data set"],
    ["1 1:1\0", 3,
     "token '1:1\\x00': a NUL byte; is this a binary or UTF-16 file?"],
    ["1\t1:1\t2:b", 7, "feature '2:b': not a number"],
    ["1 \x{c3}\x{a9}:1", 3,
     "feature '\x{c3}\x{a9}:1': the index is not a whole number"],
);
for my $line (@lines) {
    my ($text, $column, $message) = @$line;
    refused("line " . ($text =~ s/[^ -~]/?/gr), ['klr-train', 'f'],
        { f => "-1 1:1\n$text\n1 1:1\n" }, 1,
        "klr-train: f:2:$column: $message");
}
refused('a long token is cut', ['klr-train', 'f'],
    { f => "1 1:1\n\n# comment\n1 1:" . 'y' x 100 . "\n" }, 1,
    "klr-train: f:4:3: feature '1:" . 'y' x 56 . "...': not a number");
refused('carriage returns do not shift columns', ['klr-train', 'f'],
    { f => "1 1:1\r\n1 1:1 2:z\r\n" }, 1,
    "klr-train: f:2:7: feature '2:z': not a number");
refused('a byte order mark does not shift columns', ['klr-train', 'f'],
    { f => "\xef\xbb\xbfa 1:1\n" }, 1,
    "klr-train: f:1:1: label 'a': not a number$hint");

# ---- Whole data files ----

refused('an empty file', ['klr-train', 'f'], { f => '' }, 1,
    'klr-train: f: no examples');
refused('comments only', ['klr-train', 'f'], { f => "# none\n\n" }, 1,
    'klr-train: f: no examples');
refused('UTF-16', ['klr-train', 'f'], { f => "\xff\xfe1\0 \0" }, 1,
    'klr-train: f:1:1: this is UTF-16 or UTF-32 text: convert it to UTF-8');
for my $mark ([ gzip => "\x1f\x8b\x08\0" ], [ bzip2 => 'BZh91AY&SY' ],
    [ xz => "\xfd7zXZ\0\0" ], [ zstd => "\x28\xb5\x2f\xfd\x24" ])
{
    my ($by, $bytes) = @$mark;
    my $what = "f:1:1: this is compressed by $by: read - behind "
        . "'$by -dc FILE |'";
    my %files = (f => $bytes, g => "1 1:1\n");
    refused("data of $by", ['klr-train', 'f'], \%files, 1, "klr-train: $what");
    refused("names of $by", ['klr-scale', '--string-labels', 'f'], \%files, 1,
        "klr-scale: $what");
    refused("a model of $by", ['klr-predict', 'g', 'f'], \%files, 1,
        "klr-predict: $what");
}
refused('a single class', ['klr-train', 'f'], { f => "1 1:1\n1 1:2\n" }, 1,
    'klr-train: f: all examples have the same label: two classes are needed');
refused('... without a word on the kernel', [qw(klr-train -g 1e9 f)],
    { f => join '', map { "1 1:$_\n" } 1 .. 20 }, 1,
    'klr-train: f: all examples have the same label: two classes are needed');
refused('regression targets', [qw(klr-train -g 1e9 -v 5 f)],
    { f => join '', map { "$_.5 1:0.$_\n" } 1 .. 40 }, 1,
    'klr-train: f: 40 distinct labels in 40 examples look like regression '
        . 'targets, not like classes');
refused('a precomputed kernel without serial numbers',
    ['klr-train', '-t', '4', 'f'], { f => "# K\n1 1:1 2:0\n-1 1:0 2:1\n" }, 1,
    'klr-train: f:2: a precomputed kernel needs 0:SERIAL as the first feature '
        . 'of every row');
# Of several bad rows the first one of the file, whatever its class.
my $huge = 'the features are so large that the linear kernel overflows; scale '
    . 'the data';
for my $case (
    [ 4, "1 0:1 1:1\n-1 2:1\n1 3:1\n-1 4:1\n",
        '2: a precomputed kernel needs 0:SERIAL as the first feature of every '
        . 'row' ],
    [ 4, "-1 0:1 1:1\n1 0:2 2:1\n-1 0:9 3:1\n1 0:3.5 4:1\n",
        '3: serial number 9 is not an integer from 1 to 4, the last column' ],
    [ 4, "1 0:1 1:1\n-1 0:2 1:0.5 2:1\n1 0:3 1:0.25 3:1\n-1 0:4 4:1\n",
        '2: the kernel matrix is not symmetric: K(2,1) = 0.5, but K(1,2) = 0' ],
    [ 4, "1 0:1 1:1\n-1 0:2 2:1\n1 0:3 3:1 4:0.5\n-1 0:4 2:0.5 4:1\n",
        '4: the kernel matrix is not symmetric: K(4,2) = 0.5, but K(2,4) = 0' ],
    [ 0, "1 1:1\n-1 1:1e200\n1 1:1e200\n", "2: $huge" ],
    [ 0, "-1 1:1\n1 1:1e200\n-1 1:1e200\n", "2: $huge" ],
) {
    my ($kernel, $text, $message) = @$case;
    refused("the first bad row, -t $kernel", ['klr-train', '-t', $kernel, 'f'],
        { f => $text }, 1, "klr-train: f:$message");
}
my $matrix = "1 0:1 1:1 2:0.5\n# K\n-1 0:3 1:0.2001 2:0.1 3:1\n"
    . "-1 0:2 1:0.5 2:1 3:0.1\n";
refused('a precomputed kernel that is not symmetric',
    ['klr-train', '-t', '4', 'f'], { f => $matrix }, 1,
    'klr-train: f:3: the kernel matrix is not symmetric: K(3,1) = 0.2001, but '
        . 'K(1,3) = 0');
for my $case ([ $matrix =~ s/0:3/0:2/r, 'K(2,1) = 0.2001 and 0.5' ],
    [ "1 0:2 1:0.5 2:1\n-1 0:1 1:1 2:0.5\n# K\n1 0:2 1:0.5 2:0.4256\n",
        'K(2,2) = 0.4256 and 1' ])
{
    refused('a precomputed kernel of a number twice',
        ['klr-train', '-t', '4', 'f'], { f => $case->[0] }, 1,
        "klr-train: f:4: two rows have the serial number 2, with $case->[1]");
}
my $rounded = put(scratch() . '/f', $matrix =~ s/0.5$/0.5 3:0.2/mr);
is(run([ qw(klr-train -q -t 4), $rounded, "$rounded.model" ])->{exit}, 0,
    'but for rounding');

# ---- Values of options ----

my $models = 'klr, sklr, svm, kfd, ivm, lhalf';
my @values = (
    # options, message
    ['-g abc', "option -g: 'abc' is not a number"],
    ['--gamma abc', "option -g: 'abc' is not a number"],
    ['-g -1', 'option -g: must be greater than 0, got -1'],
    ['-c 1x', "option -c: '1x' is not a number"],
    ['-c nan', "option -c: 'nan' is not a number"],
    ['-c inf', "option -c: 'inf' is not a number"],
    ['-c 1e999', "option -c: '1e999' is too large"],
    ['-c 0', 'option -c: must be greater than 0, got 0'],
    ['-c -3', 'option -c: must be greater than 0, got -3'],
    ['--cost=1,,5', "option -c: '1,,5' has an empty item"],
    ['-c 1,5x', "option -c: '5x' is not a number"],
    ['-c 1,0', 'option -c: must be greater than 0, got 0'],
    ['-c 0:1:x2', 'option -c: must be greater than 0, got 0'],
    ['-c 1:8', "option -c: '1:8' is not FIRST:LAST:xFACTOR"],
    ['-c 1:8:+1', "option -c: '1:8:+1' is not FIRST:LAST:xFACTOR"],
    ['-c 1:8:x1', "option -c: '1:8:x1' needs a factor greater than 1"],
    ['-c 8:1:x2', "option -c: '8:1:x2' ends before it begins"],
    ['-c 1:2:x1.01', 'option -c: more than 64 values'],
    ['-l 1', 'option -l: only an sklr model has a lambda'],
    ['-s svm -l 1', 'option -l: only an sklr model has a lambda'],
    ['-s sklr -l -1', 'option -l: must be at least 0, got -1'],
    ['-s sklr -v 2 -l 0.1c,1',
        "option -l: '1' has no 'c' behind it, as others have"],
    ['-s sklr -l 1e200c -c 1e200',
        'option -l: 1e+200 times C is too large'],
    ['--sparsest 3 -v 2', 'option --sparsest: there is no choice without -v '
            . 'and several values of -c, -g or -l'],
    ['--sparsest 3 -c 1,2', 'option --sparsest: there is no choice without -v '
            . 'and several values of -c, -g or -l'],
    ['--sparsest 0.5 -v 2 -c 1,2',
        "option --sparsest: '0.5' is not an integer"],
    ['-a smo --no-bias', 'option --no-bias: smo always has a bias; solvers '
        . 'that do not: newton, smo1, cg --regularizer coef, trirls'],
    ['-t sigmoid -a newton', 'option -t: newton needs a positive semidefinite '
        . 'kernel; solvers that do not: smo, smo1, newton --regularizer coef, '
        . 'cg --regularizer coef'],
    ['-t sigmoid -a smo --no-bias',
        'option --no-bias: smo always has a bias; solvers '
        . 'that do not: smo1, newton --regularizer coef, '
        . 'cg --regularizer coef'],
    ['-a cg --regularizer kernel', 'option --regularizer: klr by cg does not '
        . 'take kernel; solvers that do: newton, smo, smo1, trirls'],
    ['-s sklr -a trirls', 'option -a: trirls does not train sklr; solvers '
        . 'that do: newton, smo, smo1'],
    ['-a trirls --regularizer coef', 'option --regularizer: klr by trirls '
        . 'does not take coef; solvers that do: newton, cg'],
    ['-t sigmoid --gap 0.1', 'option --gap: klr by smo does not have a dual '
        . 'bound with this kernel; solvers that do: newton --regularizer coef, '
        . 'cg --regularizer coef'],
    ['-s ivm --gap 0.1', 'option --gap: ivm by greedy does not stop at a gap'],
    ['-s kfd -a greedy --gap 0.1', 'option --gap: kfd by greedy does not stop '
        . 'at a gap; solvers that do: exact --regularizer kernel'],
    ['--keep-bounded', 'option --keep-bounded: only an sklr model has a box'],
    ['--lambda-bound',
        'option --lambda-bound: only an sklr model has a lambda'],
    ['-s svm -a smo1', 'option -a: smo1 does not train svm; solvers that do: smo, '
        . 'newton'],
    ['-s sklr --regularizer coef', 'option --regularizer: sklr by newton '
        . 'does not take coef'],
    ['-s lhalf --regularizer coef', 'option --regularizer: lhalf by threshold '
        . 'does not take coef'],
    ['-s klr --regularizer half', 'option --regularizer: klr by newton does '
        . 'not take half'],
    ['-s svm -a cg', 'option -a: cg does not train svm; solvers that do: smo, '
        . 'newton'],
    ['--regularizer coeff', "option --regularizer: 'coeff' is not one of auto, "
        . "kernel, coef, half (did you mean 'coef'?)"],
    ['-e 0', 'option -e: must be greater than 0, got 0'],
    ['-e 1e-3x', "option -e: '1e-3x' is not a number"],
    ['-v 2 -t linear -g 1,2',
        'option -g: several values, but the kernel linear has no gamma'],
    ['-v 2 -t precomputed -g 1,2',
        'option -g: several values, but the kernel precomputed has no gamma'],
    ['-d -1', 'option -d: must be at least 0 and at most 1000, got -1'],
    ['-d 2.5', "option -d: '2.5' is not an integer"],
    ['-r 1..2', "option -r: '1..2' is not a number"],
    ['-m -1', 'option -m: must be greater than 0, got -1'],
    ['-v 1', 'option -v: must be at least 2 and at most 2147483647, got 1'],
    # 2 and 1, where size_t has 32 bits
    ['-v 4294967298', 'option -v: must be at least 2 and at most 2147483647, '
        . 'got 4294967298'],
    map({ ["--$_->[0] 4294967297", "option --$_->[0]: must be at least "
            . "$_->[1] and at most 2147483647, got 4294967297"] }
        ['max-basis', 1], ['candidates', 0], ['window', 1]),
    ['-v x', "option -v: 'x' is not an integer"],
    ['-s kl', "option -s: 'kl' is not one of $models (did you mean 'klr'?)"],
    ['-s 3', "option -s: '3' is not one of $models"],
    ['-s smv', "option -s: 'smv' is not one of $models "
        . "(did you mean 'svm'?)"],
    ['-t 9', "option -t: '9' is not one of linear, polynomial, rbf, sigmoid, "
        . 'precomputed, laplacian, exponential'],
    ['-t gaussian', "option -t: 'gaussian' is not one of linear, polynomial, "
        . 'rbf, sigmoid, precomputed, laplacian, exponential'],
    ['-t linaer', "option -t: 'linaer' is not one of linear, polynomial, rbf, "
        . "sigmoid, precomputed, laplacian, exponential (did you mean "
        . "'linear'?)"],
    ['-a newtan',
        "option -a: 'newtan' is not one of auto, smo, newton, smo1, trirls, "
        . "cg, exact, greedy, threshold (did you mean 'newton'?)"],
    ['-b 2', "option -b: '2' is not one of 0, 1"],
    ['-s kfd -a newton', 'option -a: newton does not train kfd; solvers '
        . 'that do: exact, greedy'],
    ['-s kfd --no-bias', 'option --no-bias: exact always has a bias'],
    ['-s kfd --regularizer kernel -t sigmoid', 'option -t: exact needs a '
        . 'positive semidefinite kernel'],
    ['-s svm --link sigma', 'option --link: sigma is not a link of svm'],
    ['-s svm --link checked', 'option --link: checked is not a link of svm'],
    ['--link shrunk', 'option --link: shrunk is not a link of klr'],
    ['--link sgima', "option --link: 'sgima' is not one of auto, none, sigma, "
        . "shrunk, consistent, fitted, platt, checked, gaussian (did you mean "
        . "'sigma'?)"],
    ['--multiclass all', "option --multiclass: 'all' is not one of ovo, ova, "
        . 'ddag, softmax'],
    ['-s svm --multiclass softmax', 'option --multiclass: softmax is of klr '
        . 'alone, not of svm'],
    ['--multiclass softmax -a smo', 'option -a: smo does not train a softmax; '
        . 'solvers that do: newton'],
    ['--multiclass softmax -t sigmoid', 'option -t: newton needs a positive '
        . 'semidefinite kernel'],
    ['--multiclass softmax --link fitted', 'option --link: fitted is not a '
        . 'link of a softmax'],
    ['--calibrate no', "option --calibrate: 'no' is not one of cv, holdout, "
        . 'training'],
    ['--calibrate training', 'option --calibrate: the link sigma is not '
        . 'fitted'],
    ['-s svm --calibrate holdout', 'option --calibrate: the link none is not '
        . 'fitted'],
    ['--max-iter -5', 'option --max-iter: must be at least 1, got -5'],
    ['--max-iter 1e3', "option --max-iter: '1e3' is not an integer"],
    ['--time-limit -1', 'option --time-limit: must be greater than 0, got -1'],
    ['--time-limit 5s', "option --time-limit: '5s' is not a number"],
    ['--seed -1', 'option --seed: must be at least 0, got -1'],
    ['--seed 9223372036854775808',
     "option --seed: '9223372036854775808' is too large"],
    ['--positive yes', "option --positive: 'yes' is not a number$hint"],
    ['--string-labels -w 1', 'option -w: write the label directly after it, as '
        . 'in -w-1 2'],
    ['-w1 -3', 'option -w1: must be greater than 0, got -3'],
    ['-w1 0', 'option -w1: must be greater than 0, got 0'],
    ['-w1 a', "option -w1: 'a' is not a number"],
    ['-wx 1', "option -w: 'x' is not a number$hint"],
    ['-w 1', 'option -w: write the label directly after it, as in -w-1 2'],
    ['--gama 1', 'unknown option --gama (did you mean --gamma?)'],
    ['-gamma 1', 'unknown option -gamma (did you mean --gamma?)'],
    ['--help=1', 'option --help takes no value'],
    ['--max_iter=5', 'unknown option --max_iter (did you mean --max-iter?)'],
    ['--folds 5', 'unknown option --folds (did you mean --validate?)'],
    ['--fold 5', 'unknown option --fold (did you mean --validate?)'],
    ['--CV 5', 'unknown option --CV (did you mean --validate?)'],
    ['-C 10', 'unknown option -C (did you mean --cost?)'],
    ['--class-weight balanced',
        'unknown option --class-weight (did you mean --balance?)'],
    ['--n-jobs=4', 'unknown option --n-jobs (did you mean --threads?)'],
    ['--jason', 'unknown option --jason (did you mean --json?)'],
    ['--kernel-cache-of-mine', 'unknown option --kernel-cache-of-mine'],
    ['-c10', 'unknown option -c10 (did you mean -c 10?)'],
    ['-svmtrain', 'unknown option -svmtrain'],
    ['-ssvm', 'unknown option -ssvm (did you mean -s svm?)'],
    ['-n 0.5', 'unknown option -n'],
    ['-p 0.1', 'unknown option -p'],
    ['-v=5', 'unknown option -v=5 (did you mean -v 5?)'],
    ['-c=', 'unknown option -c='],
    ['--gama=1', 'unknown option --gama (did you mean --gamma?)'],
    ['-qq', 'unknown option -qq'],
    ['--json=1', 'option --json takes no value'],
);
for my $value (@values) {
    my ($options, $message) = @$value;
    refused($options, ['klr-train', split(/ /, $options), 'd', 'm'], {}, 2,
        "klr-train: $message");
}
refused('an empty value', ['klr-train', '-c', '', 'd'], {}, 2,
    "klr-train: option -c: '' is not a number");
refused('control characters', ['klr-train', "--x\e[31m\n", 'd'], {}, 2,
    'klr-train: unknown option --x\x1B[31m\x0A');
refused('control characters of a hint', ['klr-scale', "-s\n1", 'd'], {}, 2,
    'klr-scale: unknown option -s\x0A1 (did you mean -s \x0A1?)');
refused('control characters of a label', ['klr-train', 'd', "-w\t\n"], {}, 2,
    'klr-train: option -w\x09\x0A needs a value (LABEL WEIGHT)');
refused('a label that is long', ['klr-train', 'd', '-w' . '1' x 300], {}, 2,
    'klr-train: option -w' . '1' x 38 . ' needs a value (LABEL WEIGHT)');
refused('a value is missing', ['klr-train', 'd', '-c'], {}, 2,
    'klr-train: option -c needs a value (C)');
refused('a value is missing after a long name', ['klr-train', 'd', '--cost'],
    {}, 2, 'klr-train: option --cost needs a value (C)');
refused('a weight is missing', ['klr-train', 'd', '-w1'], {}, 2,
    'klr-train: option -w1 needs a value (LABEL WEIGHT)');

# ---- Options of validation ----

refused('--metric without -v', ['klr-train', '--metric', 'f1', 'd'], {}, 2,
    'klr-train: option --metric: only validation (-v) looks at it');
refused('--metrics without -v', ['klr-train', '--metrics', 'd'], {}, 2,
    'klr-train: option --metrics: only validation (-v) has them');
refused('a metric without probabilities',
    ['klr-train', '-v', '2', '-s', 'svm', '--metric', 'brier', 'd'], {}, 2,
    'klr-train: option --metric: brier needs probabilities, which -b 1 or '
        . '--link gives a model');
refused('AUC of three classes',
    ['klr-train', '-v', '2', '--metric', 'auc', 'three'],
    { three => join '', map { $_ % 3 . " 1:$_\n" } 1 .. 9 }, 2,
    'klr-train: option --metric: auc is of two classes; the data have 3');
refused('a metric that is none', ['klr-train', '-v', '2', '--metric', 'loss',
    'd'],
    {}, 2, "klr-train: option --metric: 'loss' is not one of auto, accuracy,"
        . ' balanced, logloss, brier, auc, f1, mcc, ece');

# ---- Operands ----

refused('options only', ['klr-train', '-q'], {}, 2,
    "klr-train: operands are missing $usage{train}");
refused('three operands', ['klr-train', 'd', 'm', 'o'], {}, 2,
    "klr-train: one operand too many: 'o' $usage{train}");
refused('rows of support vectors without a model',
    ['klr-train', '-v', '2', '--sv-indices', 'd'], {}, 2,
    'klr-train: option --sv-indices: no model is written');
refused('stdin without a model', ['klr-train', '-'], {}, 2,
    'klr-train: training from stdin needs the name of a model');
refused('two things on stdout', ['klr-train', '--json', 'd', '-'], {}, 2,
    'klr-train: --json and the model cannot both go to stdout');
refused('several models on stdout', ['klr-train', '-c', '1,2', 'd', '-'], {}, 2,
    'klr-train: the models of several costs cannot all go to stdout');
refused('a table and a model on stdout',
    ['klr-train', '-v', '2', '-c', '1,2', 'd', '-'], {}, 2,
    'klr-train: the results of -v and the model cannot both go to stdout');
for my $stdout ('/dev/stdout', '/dev/fd/1', '/proc/self/fd/1') {
    refused("two things on $stdout", ['klr-train', '--json', 'd', $stdout], {},
        2, 'klr-train: --json and the model cannot both go to stdout');
    refused("validation and its predictions on $stdout",
        ['klr-train', '-v', 2, '--cv-out', $stdout, 'd'], {}, 2,
        'klr-train: the results of -v and the predictions cannot both go to '
            . 'stdout');
}
refused('several costs, stdin without a model',
    ['klr-train', '-v', '2', '-c', '1,2', '-'], {}, 2,
    'klr-train: training from stdin needs the name of a model');
is(run(['klr-train'])->{exit}, 2, 'no argument at all: exit status');

# ---- Options that the data refute ----

refused('a weight of no class', ['klr-train', '-w7', '2', 'd'], {}, 2,
    "klr-train: option -w: no example has the label '7'");
refused('a positive label of no class', ['klr-train', '--positive', '7', 'd'],
    {}, 2, "klr-train: option --positive: no example has the label '7'");
refused('a positive label of three',
    ['klr-train', '--positive', '1', 'f'],
    { f => join '', map { "$_ 1:$_\n" x 3 } 1 .. 3 }, 2,
    'klr-train: option --positive: the data have 3 classes, not two');

# ---- Files ----

refused('no such file', ['klr-train', 'nil'], {}, 1,
    'klr-train: nil: cannot open: No such file or directory');
refused('a name of two lines', ['klr-train', "n\ni\x{e9}l"], {}, 1,
    'klr-train: n\x0Ai\xE9l: cannot open: No such file or directory');
refused('a folder as data', ['klr-train', '/usr', 'm'], {}, 1,
    'klr-train: /usr: cannot read: Is a directory');
# The model is looked at before the data: d is malformed here.
my %bad = (d => "x\n");
refused('no folder for the model', ['klr-train', 'd', 'nil/m'], \%bad, 1,
    'klr-train: nil/m: cannot write: No such file or directory');
refused('a folder as model', ['klr-train', 'd', '/usr'], \%bad, 1,
    'klr-train: /usr: cannot write: Is a directory');
refused('a file as folder of the model', ['klr-train', 'd', 'd/m'], \%bad, 1,
    'klr-train: d/m: cannot write: Not a directory');

# What is read is not replaced by what is written, nor one result by another.
my @replacements = (
    # what would replace what, command
    ['./d', 'd', 'klr-train -q d ./d'],
    ['d', 'd', 'klr-train -q --weights w --cv-out d -v 2 d'],
    ['w', 'w', 'klr-train -q --weights w d w'],
    ['w', 'w', 'klr-train -q --folds-file w --cv-out w d'],
    ['x', 'x', 'klr-train -q -v 2 -c 1,2 --cv-out x d x'],
    ['./x', 'x', 'klr-train -q -v 2 -c 1,2 --cv-out x d ./x'],
    ['x.1', 'x.1', 'klr-train -q -c 1,2 x.1 x'],
    ['d', 'd', 'klr-predict d m d'],
    ['m', 'm', 'klr-predict d m m'],
    ['d', 'd', 'klr-scale -s d d'],
);
for my $case (@replacements) {
    my ($file, $same, $command) = @$case;
    my ($program) = $command =~ /(\S+)/;
    refused($command, [split / /, $command],
        { w => "1\n2\n", 'x.1' => $good, m => $svm }, 2,
        "$program: $file: the same file as $same, and would be replaced");
}
# Nor is it written into by the name of a stream, where the end of what is read
# would never come; and stdout is not lost. The limit ends what is wrong.
for my $case (
    # command, what is the same as what
    ['klr-scale d >>d', 'stdout: the same file as d'],
    ['klr-scale - <d >>d', 'stdout: the same file as stdin'],
    ['klr-scale -r r d >>r', 'stdout: the same file as r'],
    ['klr-predict -b 0 d m >>d', 'stdout: the same file as d'],
    ['klr-predict -b 0 d - <m >>m', 'stdout: the same file as stdin'],
    ['klr-predict d m /dev/fd/3 3>>d', '/dev/fd/3: the same file as d'],
    ['klr-train -q d - >>d', 'stdout: the same file as d'],
    ['klr-train -q - d <d', 'd: the same file as stdin, and would be replaced'],
    ['klr-predict - m d <d',
     'd: the same file as stdin, and would be replaced'],
    map { ["$_ >>o", 'o: the same file as stdout, and would be replaced'] }
    'klr-scale -s o d', 'klr-predict d m o', 'klr-train -q --json d o',
    'klr-train -q -v 2 --cv-out o d')
{
    my ($command, $message) = @$case;
    my ($program) = $command =~ /(\S+)/;
    my %files = (d => $good, m => $svm, r => $ranges, o => "old\n");
    my $dir = scratch();
    put("$dir/$_", $files{$_}) for keys %files;
    my $run = run([ 'sh', '-c', "ulimit -f 2; \"\$0\"/$command",
        abs_path($ENV{KLR_BIN} // '.') ], cwd => $dir);
    is("$run->{exit} $run->{err}", "2 $program: $message\n", $command);
    is(join('', map { get("$dir/$_") } sort keys %files),
        join('', @files{sort keys %files}), 'files are as before');
}
SKIP: {
    skip 'permissions do not bind root', 3 if $> == 0;
    my $dir = scratch();
    put("$dir/d", $good);
    chmod 0000, "$dir/d";
    my $run = run(['klr-train', 'd'], cwd => $dir);
    is($run->{err}, "klr-train: d: cannot open: Permission denied\n",
        'unreadable data');
    chmod 0600, "$dir/d";
    chmod 0500, $dir;
    $run = run(['klr-train', 'd'], cwd => $dir);
    is($run->{err}, "klr-train: d.model: cannot write: Permission denied\n",
        'an unwritable folder');
    is($run->{exit}, 1, 'an unwritable folder: exit status');
    chmod 0700, $dir;
}
SKIP: {
    skip 'there is no /dev/full', 5 if !-c '/dev/full';
    refused('a full disk', ['klr-train', '-q', 'd', '/dev/full'], {}, 1,
        'klr-train: /dev/full: cannot write: No space left on device');
    for my $arguments ('-q heart_scale -', '-q -v 3 heart_scale', '--help') {
        my $run = run(['klr-train', split / /, $arguments],
            stdout_file => '/dev/full');
        is("$run->{exit} $run->{err}", '1 klr-train: stdout: cannot write: '
                . "No space left on device\n", "$arguments >/dev/full");
    }
}

{
    my $limit = 'ulimit -f 2 && exec "$@"';
    my %files = (d => get('heart_scale'), m => "old\n");
    refused('a limit of file sizes',
        ['sh', '-c', $limit, 'sh', abs_path(bin('klr-train')), '-q', 'd', 'm'],
        \%files, 1, 'klr-train: m: cannot write: File too large');
}

# ---- Streams that are closed ----

# Whatever is opened first would get their numbers: what klr-scale keeps of a
# pipe that of stdout.
my $closed = 'cannot write: Bad file descriptor';
for my $case (
    ['cat d | "$0"/klr-scale - >&-', "klr-scale: stdout: $closed"],
    ['"$0"/klr-scale d >&-', "klr-scale: stdout: $closed"],
    ['cat d | "$0"/klr-predict - m >&-', "klr-predict: stdout: $closed"],
    ['cat d | "$0"/klr-train -q - - >&-', "klr-train: stdout: $closed"],
    ['"$0"/klr-train - m <&-',
     'klr-train: stdin: cannot read: Bad file descriptor'])
{
    my ($command, $message) = @$case;
    refused($command, ['sh', '-c', $command, abs_path($ENV{KLR_BIN} // '.')],
        { m => $svm }, 1, $message);
}

# ---- klr-predict ----

my @predictions = (
    # arguments, exit status, message
    ['d', 2, "operands are missing $usage{predict}"],
    ['d m o x', 2, "one operand too many: 'x' $usage{predict}"],
    ['-b 2 d m', 2, "option -b: '2' is not one of 0, 1, auto"],
    ['-b 1 d m', 2, '-b 1: the model has no probabilities'],
    ['-b 1 --decision d m', 2, '--decision and -b 1 exclude each other'],
    ['--json d m', 2, '--json and the predictions cannot both go to stdout'],
    ['--json d m /dev/stdout', 2,
     '--json and the predictions cannot both go to stdout'],
    ['- -', 2, 'test set and model cannot both come from stdin'],
    ['--descision d m', 2,
     'unknown option --descision (did you mean --decision?)'],
    ['--unlabeled d m', 2,
     'unknown option --unlabeled (did you mean --unlabelled?)'],
    ['-v 5 d m', 2, 'unknown option -v'],
    ['nil m', 1, 'nil: cannot open: No such file or directory'],
    ['d nil', 1, 'nil: cannot open: No such file or directory'],
    ['/usr m', 1, '/usr: cannot read: Is a directory'],
    ['d /usr', 1, '/usr: cannot read: Is a directory'],
    ['d m nil/o', 1, 'nil/o: cannot write: No such file or directory'],
    ['d m /usr', 1, '/usr: cannot write: Is a directory'],
    ['f m o', 1, "f:2:3: feature 'x:1': the index is not a whole number"],
    ['u m o', 1,
        "u:1:1: missing label before '1:1': --unlabelled reads such rows"],
);
for my $case (@predictions) {
    my ($arguments, $exit, $message) = @$case;
    refused("klr-predict $arguments",
        ['klr-predict', split / /, $arguments],
        { m => $svm, f => "1 1:1\n1 x:1\n", u => "1:1\n" }, $exit,
        "klr-predict: $message");
}

# ---- klr-scale ----

my @scalings = (
    ['-l 0', 2, "operands are missing $usage{scale}"],
    ['d e', 2, "one operand too many: 'e' $usage{scale}"],
    ['-l a d', 2, "option -l: 'a' is not a number"],
    ['-u inf d', 2, "option -u: 'inf' is not a number"],
    ['-l 2 d', 2, 'options -l, -u: the lower limit 2 is not below the upper '
        . 'limit 1'],
    ['-y 1 1 d', 2, 'option -y: the lower limit 1 is not below the upper '
        . 'limit 1'],
    ['-y 0 b d', 2, "option -y: 'b' is not a number"],
    ['d -y 0', 2, 'option -y needs more values (LOWER UPPER)'],
    ['-r r -l 0 d', 2, '-r and -l exclude each other'],
    ['-r r -s s d', 2, '-r and -s exclude each other'],
    ['-r r --standardize d', 2,
     '-r and --standardize exclude each other'],
    ['-s - d', 2, 'the ranges (-s) cannot go to stdout'],
    ['-s /dev/stdout d', 2, 'the ranges (-s) cannot go to stdout'],
    ['-r - -', 2, 'ranges (-r) and data cannot both come from stdin'],
    ['--standardise d', 2,
     'unknown option --standardise (did you mean --standardize?)'],
    ['nil', 1, 'nil: cannot open: No such file or directory'],
    ['-r nil d', 1, 'nil: cannot open: No such file or directory'],
    ['-s nil/s d', 1, 'nil/s: cannot write: No such file or directory'],
    ['f', 1, "f:2:3: feature '1:z': not a number"],
    ['-s s f', 1, "f:2:3: feature '1:z': not a number"],
    ['e', 1, 'e: no examples'],
    ['-r f d', 1, 'f:1: not a section: y, x or z'],
);
for my $case (@scalings) {
    my ($arguments, $exit, $message) = @$case;
    refused("klr-scale $arguments", ['klr-scale', split / /, $arguments],
        { r => $ranges, f => "1 1:1\n1 1:z\n", e => '' }, $exit,
        "klr-scale: $message");
}
SKIP: {
    skip 'there is no /dev/full', 4 if !-c '/dev/full';
    my $dir = scratch();
    put("$dir/d", $good);
    put("$dir/m", $svm);
    my $full = 'cannot write: No space left on device';
    for my $case (
        ['klr-predict d m /dev/full', "/dev/full: $full"],
        ['klr-predict d m', "stdout: $full"],
        ['klr-scale d', "stdout: $full"],
        ['klr-predict -q --json d m o', "stdout: $full"])
    {
        my ($command, $message) = @$case;
        my $run = run([split / /, $command], cwd => $dir,
            stdout_file => '/dev/full');
        my ($name) = split / /, $command;
        is("$run->{exit} $run->{err}", "1 $name: $message\n",
            "$command >/dev/full");
    }
}

done_testing();
