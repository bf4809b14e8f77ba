# SPDX-License-Identifier: BSD-3-Clause
#
# Grids in parts: what klr-grid refuses to put together, what it says is
# missing, the commands of its plans, killed on the way and run again, by sh,
# GNU parallel and as Slurm runs them, and a grid that grows.
use strict;
use warnings;
no warnings 'qw'; # lists of numbers
use lib 'tests/cli/lib';
use Cwd 'getcwd';
use Test::More;
use Judge qw(clusters);
use KLR;

plan skip_all => 'python3 is not installed' unless peer('python3');

my $dir = scratch();
my $train = Cwd::abs_path(bin('klr-train'));
my $tool = getcwd() . '/tools/klr-grid';
my @grid = qw(-v 3 -c 0.1:10:x10 -g 0.01,0.1,1);
put("$dir/data", get('heart_scale'));

sub grid { return run([ $tool, @_ ], cwd => $dir) }
sub train { return run([ $train, '-q', @_ ], cwd => $dir) }

# What is printed but for the name in front.
sub drawn { return $_[0]{out} =~ s/^[^:]+//r }

# ---- Parts that do not belong together ----

sub part
{
    my ($name, @option) = @_;
    my $run = train(@option, '--part', $name, 'data');
    is("$run->{exit}$run->{err}", 0, "part $name");
    return $name;
}

my @list = qw(-v 3 -c 0.1:10:x10);
put("$dir/weights", "2\n" x 270);
part('one', @list, qw(-g 0.01));
for my $case ([ 'seed is 1 and 2', qw(--seed 2) ],
    [ 'validate is 3 and 4', qw(-v 4) ],
    [ 'model is klr and svm', qw(-s svm) ],
    [ 'kernel is rbf and laplacian', qw(-t laplacian) ],
    [ 'scale is none and standard', qw(--scale standard) ],
    [ 'balance is not given and True', '--balance' ],
    [ '-w1 is not given and 2', '-w1', 2 ],
    [ qr/weights is not given and [0-9a-f]{16}/, '--weights', 'weights' ])
{
    my ($difference, @option) = @$case;
    unlink "$dir/two";
    part('two', @list, qw(-g 0.1), @option);
    my $run = grid('one', 'two');
    like("$run->{exit}$run->{out}$run->{err}",
        qr/\A1klr-grid: one and two do not belong together: $difference\n\z/,
        "@option");
}
for my $case ([ 's/1:0.708333/1:0.7/', 'data is [0-9a-f]{16} and [0-9a-f]{16}' ],
    [ 's/\A.*\n//', 'n is 270 and 269' ])
{
    my ($change, $difference) = @$case;
    local $_ = get('heart_scale');
    eval $change;
    put("$dir/other", $_);
    put("$dir/json", train('--json', @list, qw(-g 0.1 other /dev/null))->{out});
    like(grid('one', 'json')->{err},
        qr/^klr-grid: one and json do not belong together: $difference$/m,
        "$change, as JSON");
}

# ---- What is missing ----

unlink "$dir/two";
part('two', @list, qw(-g 0.1));
part('three', @list, qw(-g 1));
put("$dir/empty", '');
put("$dir/head", get("$dir/one") =~ s/\n.*//sr . "\n");
put("$dir/torn", substr get("$dir/three"), 0, -1);
my @missing = grid('one', 'none', 'empty', 'head', 'torn', 'three');
is($missing[0]{exit}, 1, 'parts are missing');
like($missing[0]{err}, qr/\Aklr-grid: none: No such file or directory
klr-grid: empty: empty
klr-grid: head: nothing is finished
klr-grid: torn: nothing is finished\n/, 'which are named');
like($missing[0]{out}, qr/^10 0.01 8/m, 'of the others there is a best point');
like(grid('one', 'none')->{err}, qr/^klr-grid: none: No such file/m,
    'the last one, too');
is(grid('--finish', 'one', 'two', 'empty')->{out}, '', 'no last training');
is(grid('none', 'one', 'none', 'nothing')->{err} =~ s/^klr-grid: (?:the|1) .*\n//mgr,
    join('', map {"klr-grid: $_: No such file or directory\n"} qw(none none
        nothing)), 'several of the last, too');
is(grid('none', 'nothing')->{err} =~ s/.*\n//r =~ s/.*\n//r,
    "klr-grid: no part of a grid has results\n", 'all');
is(grid('data', 'data')->{err}, "klr-grid: data: no results of klr-train -v\n",
    'data are no results');

my $whole = train('--json', @grid, 'data', '/dev/null')->{out};
is(drawn(grid(put("$dir/run", $whole))), drawn(grid(qw(three one two))),
    'parts have the table of one run');
my $cut = JSON::PP::decode_json($whole);
for my $point (@{ $cut->{values} }[ 0, 4 ]) {
    $point->{$_} = undef for grep { !/^(?:c|gamma|status)$/ } keys %$point;
    $point->{status} = 'time_limit';
}
splice @{ $cut->{values} }, 7, 1;
put("$dir/cut", JSON::PP->new->canonical->encode($cut) . "\n");
my $run = grid('cut');
is($run->{err} =~ s/klr-grid: the best .*\n//r, <<'END', 'gaps are told');
klr-grid: cut: 2 points not solved: C = 0.1, gamma = 0.01; C = 1, gamma = 0.1
klr-grid: 1 point of the grid missing: C = 1, gamma = 1
END
my @cells = map { [ unpack 'A6' x 3, substr($_, 6) . ' ' x 18 ] }
    (split /\n/, $run->{out})[ 4 .. 6 ];
is(join('|', map { join '', map { /\d/ ? 1 : 0 } @$_ } @cells), '101|101|011',
    'drawn blank') or diag($run->{out});
put("$dir/before", get("$dir/cut") =~ s/"problem".*\K"values":\[.*\]/"values":[
    {"c":0.1,"gamma":0.01,"status":"time_limit"}]/sr =~ s/\n +//r);
is(drawn(grid(qw(before one two three))), drawn(grid(qw(one two three))),
    'what another part solved is solved');

# ---- Standard errors ----

my $point = JSON::PP::decode_json($whole)->{values}[8];
my $single = JSON::PP::decode_json(
    train(qw(--json -v 3 -e 1e-3 -c 10 -g 1 data))->{out});
cmp_ok(abs($single->{standard_error}{log_loss}
        - $point->{standard_error}{log_loss}), '<', 1e-3, 'standard errors');
like(grid('one')->{out}, qr/log loss = [\d.]+ \(s\.e\. [\d.]+\)/, 'are told');

# ---- The commands of a plan ----

train(@grid, qw(--log whole data model));
my $table = drawn(grid('whole'));
my @plan = split /\n/, grid('--train', $train, '--plan', @grid, 'data')->{out};
is(@plan, 3, 'a command for each gamma');

# The second one is killed once it has begun its part, and run again.
run([ 'sh', '-c', $plan[0] ], cwd => $dir);
my $killed = start([ 'sh', '-c', "exec $plan[1]" ], cwd => $dir);
wait_until($killed, sub { -s "$dir/data.part.2" });
kill 'KILL', $killed->{pid};
finish($killed);
like(grid(map {"data.part.$_"} 1 .. 3)->{err}, qr/^klr-grid: data.part.3: No such/m,
    'a part is missing');
run([ 'sh', '-c', $_ ], cwd => $dir) for @plan;
is(drawn(grid(map {"data.part.$_"} 1 .. 3)), $table, 'the table of one run');
my $last = grid('--train', $train, '--finish', map {"data.part.$_"} 1 .. 3)->{out};
chomp $last;
is(run([ 'sh', '-c', "$last again" ], cwd => $dir)->{exit}, 0, 'the last training');
is(get("$dir/again"), get("$dir/model"), 'the model of one run');

SKIP: {
    my $parallel = peer('parallel') or skip 'GNU parallel is not installed', 2;
    my @odd = ('-v', 3, '-c', '1,10', '-w1', 2, '--scale', 'minmax', '--parts',
        "it's a part", '-g', '2^-5:2^1:x4');
    my $plan = grid('--train', $train, '--plan', @odd, 'data')->{out};
    my $run = run([ $parallel, '-j', 2 ], stdin => $plan, cwd => $dir);
    is($run->{exit}, 0, 'GNU parallel') or diag($run->{err});
    train(@odd[ 0 .. 7, 10, 11 ], qw(--log odd.log data odd));
    my @parts = map {"it's a part.$_"} 1 .. 4;
    is(drawn(grid(@parts)), drawn(grid('odd.log')), 'the table of one run');
    my $last = grid('--train', $train, '--finish', @parts)->{out};
    chomp $last;
    run([ 'sh', '-c', "$last odd2" ], cwd => $dir);
    is(get("$dir/odd2"), get("$dir/odd"), 'and its model');
}

# ---- Folds apart ----

# The shell's last training, whose model is named.
sub finish_by
{
    my ($model, @parts) = @_;
    my $last = grid('--train', $train, '--finish', @parts)->{out};
    chomp $last;
    return run([ 'sh', '-c', "$last $model" ], cwd => $dir);
}

put("$dir/fold.numbers", join '', map { 7 * ($_ % 3) . "\n" } 1 .. 270);
for my $case ([ 9, @grid ], [ 6, qw(-v 3 -c 1,10 -s sklr -l 0.1c,0.5c -g 0.1,1) ],
    [ 4, qw(-v 4 -c 1,10 -t linear) ],
    [ 3, qw(--folds-file fold.numbers -c 1,10 -g 0.1 --balance) ])
{
    my ($count, @option) = @$case;
    my @plan = split /\n/, grid('--train', $train, '--plan', '--by-fold',
        '--parts', 'fold', @option, 'data')->{out};
    is(@plan, $count, "a command for each fold: @option");
    run([ 'sh', '-c', $_ ], cwd => $dir) for reverse @plan;
    my @parts = map {"fold.$_"} 1 .. $count;
    my $whole = train(@option, 'data', 'once');
    like(grid(@parts)->{err}, qr/^klr-grid: fold.1 has folds, of which --finish /,
        'no table of them');
    is(finish_by('joined', @parts)->{out}, $whole->{out}, 'the table of one run');
    is(get("$dir/joined"), get("$dir/once"), 'and its model');
    is(finish_by('again', 'fold.log')->{exit}, 0, 'the log is that of a grid');
    is(get("$dir/again"), get("$dir/once"), 'of the same model');
    my $lost = grid('--finish', @parts[ 0 .. $count - 2 ]);
    like("$lost->{exit}$lost->{out}$lost->{err}",
        qr/\A1klr-grid: fold \d is missing.*no last training\n\z/s, 'a fold is missing')
        if "@option" =~ /linear/;
    unlink map {"$dir/$_"} @parts, 'fold.log';
}
is(grid('--plan', '--by-fold', '--loo', 'data')->{exit}, 1, 'no folds of --loo');

# ---- Pairs of classes apart ----

put("$dir/four", clusters(seed => 3, labels => [ 'c', 'a b', 'd', 'a' ],
        n => 60, d => 3) =~ s/^a b/b/mgr);
put("$dir/four.numbers", "\x{ef}\x{bb}\x{bf}# four\n\n"
        . get("$dir/four") =~ s/^a /+1 /mgr =~ s/^b /1.0 /mgr =~ s/^c /-1 /mgr
        =~ s/^d /2 /mgr);
for my $case ([ 6, 'four', qw(--string-labels -s svm -b 1 -c 2) ],
    [ 3, 'four.numbers', qw(-c 1,10 -g 0.5 -j 1) ])
{
    my ($count, $data, @option) = @$case;
    my @plan = split /\n/, grid('--train', $train, '--plan', '--by-pair',
        '--parts', 'pair', @option, $data)->{out};
    is(@plan, $count, "a command for each pair: @option");
    run([ 'sh', '-c', $_ ], cwd => $dir) for reverse @plan;
    my @parts = map {"pair.$_"} 1 .. $count;
    train(@option, $data, 'once');
    like(grid(@parts)->{err}, qr/^klr-grid: pair.1 has pairs of classes, of which /,
        'no table of them');
    is(finish_by('joined', @parts)->{exit}, 0, 'the model of one run');
    for my $c (grep { -e "$dir/once$_" } '', '.1', '.10') {
        is(get("$dir/joined$c"), get("$dir/once$c"), 'to the byte');
    }
    my $lost = grid('--finish', @parts[ 1 .. $count - 1 ]);
    is("$lost->{exit}$lost->{out}$lost->{err}", "1klr-grid: pair 1 is missing\n"
            . "klr-grid: the training is not whole: no last training\n",
        'a pair is missing');
    unlink map {"$dir/$_"} @parts, 'pair.log';
}
train('-g', $_, '--part', "gamma.$_", '--only-pair', 1, 'four.numbers') for 1, 2;
is(grid('--finish', 'gamma.1', 'gamma.2')->{err},
    "klr-grid: the parts are of 2 gammas: a training has one\n", 'two gammas');
is(grid('--plan', '--by-pair', 'four')->{err},
    "klr-grid: four:1: label 'c': not a number\n", 'names without --string-labels');
put("$dir/alone", "1 1:1\n1 1:2\n");
is(grid('--plan', '--by-pair', 'alone')->{err},
    "klr-grid: alone: no two classes\n", 'a class alone');

# ---- Damaged results ----

train(qw(--part p.1 --only-pair 1 four.numbers));
for my $case ([ 'one', '"c": [\d.]+, ', '' ], [ 'one', '"problem": \{', '"problem": 3, "x": {' ],
    [ 'one', '"files": \{[^}]*\}', '"files": {}' ], [ 'one', '"seed": ', '"seed": [], "x": ' ],
    [ 'p.1', '"pair": 1', '"pair": "x"' ], [ 'p.1', '"pairs": 3', '"pairs": 1000000' ],
    [ 'p.1', '"gamma": null', '"gamma": []' ], [ 'p.1', '"klr_log": 1, "problem"', '"other"' ])
{
    my ($file, $pattern, $text) = @$case;
    put("$dir/damaged", get("$dir/$file") =~ s/$pattern/$text/r);
    for my $option ([], ['--finish']) {
        my $run = grid(@$option, 'damaged');
        next if !@$option && $text eq '"other"';
        like("$run->{exit}$run->{err}", qr/\A1klr-grid: damaged[^\n]*\n\z/,
            "@$option: $text");
    }
}

# ---- As Slurm runs it ----

# A task that is told that its time is over is queued again, here by a scontrol
# that only notes it; what it had done stays.
mkdir "$dir/bin";
put("$dir/bin/scontrol", qq(#!/bin/sh\necho "\$@" >> "$dir/requeued"\n));
chmod 0755, "$dir/bin/scontrol";
my $script = grid('--train', $train, '--plan', 'slurm', '--parts', 'task', @grid,
    'data')->{out};
like($script, qr/^#SBATCH --array=1-3$/m, 'an array of three');
put("$dir/array", $script);
my %env = (PATH => "$dir/bin:$ENV{PATH}", SLURM_JOB_ID => 77,
    SLURM_CPUS_PER_TASK => 1);
mkdir "$dir/slow";
put("$dir/slow/array", $script =~ s/ -v 3 / -v 10 -s svm -e 1e-12 /r
        =~ s/0\.1:10:x10/2^-5:2^12:x2/r);
put("$dir/slow/data", get('heart_scale') x 4);
my $task = start([ 'sh', 'array' ], cwd => "$dir/slow",
    env => { %env, SLURM_ARRAY_TASK_ID => 2 });
wait_until($task, sub { -s "$dir/slow/task.2" });
kill 'USR1', $task->{pid};
finish($task);
is(get("$dir/requeued"), "requeue 77\n", 'a task is queued again');
like(get("$dir/slow/task.2"), qr/\A\{"klr_log".*\n\z/, 'with its part begun');
run([ 'sh', 'array' ], cwd => $dir, env => { %env, SLURM_ARRAY_TASK_ID => $_ })
    for 1 .. 3;
is(drawn(grid(map {"task.$_"} 1 .. 3)), $table, 'the table of one run');
like(grid('--plan', 'condor', @grid, 'data')->{out},
    qr/^queue gamma, part from \(\n0.01, data.part.1\n/m, 'a queue for HTCondor');

# ---- Names ----

# Bytes that are no UTF-8, what ends a line for Python but not for others, and
# what shells and schedulers take for their own.
my @small = qw(-v 2 -c 1,10 -g 0.1,1);
my $plain = drawn(grid('--train', $train, '-q', @small, '--save', 'small',
        'data'));
for my $name ("bad\xFF \xE2\x80\xA8b\x0Cc", q(a$x%d, "b"'s)) {
    put("$dir/$name", get('heart_scale'));
    my @plan = split /\n/, grid('--train', $train, '--plan', @small, $name)->{out};
    is(run([ 'sh', '-c', $_ ], cwd => $dir)->{exit}, 0, 'a command') for @plan;
    like(grid(map {"$name.part.$_"} 1, 2)->{out}, qr/^10 0.1 /m,
        'parts of any name');
    is(drawn(grid('--results', 'named', '--train', $train, '-q', @small, $name)),
        $plain, 'data of any name');
    is(drawn(grid('named')), $plain, 'whose results are drawn again');
    my $last = grid('--train', $train, '--finish', 'named')->{out} =~ s/\n\z//r;
    is(run([ 'sh', '-c', "$last named.model" ], cwd => $dir)->{exit}, 0,
        'the last training');
    is(get("$dir/named.model"), get("$dir/small"), 'the model of one run');
    like(grid('--plan', 'slurm', @small, $name)->{out},
        qr{^#SBATCH --output=[\w./]+\.slurm$}m, 'a plain name for Slurm');
    like(grid('--plan', 'condor', @small, $name)->{err},
        qr/^klr-grid: .*: HTCondor takes a part of this name for something/,
        'a name that HTCondor cannot have');
}
like(grid('--plan', 'condor', '--parts', 'p', @small, q(a$x%d, "b"'s))->{out},
    qr/ --part \$\(part\) 'a\$\(DOLLAR\)x%d, ""b""''s'"$/m, 'data of any name');
put("$dir/new\nline", get('heart_scale'));
is(grid('--plan', @small, "new\nline")->{err},
    "klr-grid: new\\x0Aline: a command is a line, and can hold no line feed\n",
    'no line within a name');

# ---- Beyond the edge ----

$run = grid('--train', $train, qw(--extend -q -v 3 -c 0.1,1,10 -g 0.01 --save
        best --results kept data));
like($run->{err}, qr/^klr-grid: C = 10 is the largest: on to 10000$/m,
    'a grid that grows');
is($run->{exit}, 0, 'to an end');
my ($c) = $run->{out} =~ /^(\S+) 0.01 \S+$/m;
my $large = train(qw(-v 3 -c 0.1:1e4:x10 -g 0.01 data large))->{out};
is($c, $large =~ /^Best C = (\S+)/m && $1, 'the best of a large grid');
is(get("$dir/best"), get("$dir/large"), 'and its model');
is(drawn(grid('kept')), drawn($run), 'kept to be drawn again');

# ---- A metric that no point has ----

put("$dir/alike", "1 1:1\n" x 4 . "-1 1:1\n" x 2);
my $usual = "klr-grid: no point has a value of the metric mcc: logloss chooses\n";
put("$dir/alike.json", train(qw(--json -v 2 -c 0.1,1 -g 1,2 --metric mcc alike m))
        ->{out});
$run = grid('alike.json');
is("$run->{exit} $run->{err}", "0 $usual", 'the default chooses, as of klr-train');
like($run->{out}, qr/\A\S+: log loss by .*^Best C = 0.1, gamma = 1\n/ms,
    'and is drawn');
is(get("$dir/m"), do {
    train(qw(-v 2 -c 0.1,1 -g 1,2 --metric logloss alike n));
    get("$dir/n") }, 'the same model');
like(grid('--metric', 'mcc', 'alike.json')->{err}, qr/\Q$usual\E/, '--metric');
put("$dir/votes", train(qw(--json -s svm -v 2 -c 0.1,1 --metric f1 alike m))
        ->{out} =~ s/"f1": [^,]*/"f1": null/gr);
like(grid('votes')->{err}, qr/the metric f1: accuracy chooses/, 'of labels alone');

# ---- Wrong usage ----

for my $case ([ '--plan', 'one' ], [ '--finish', @grid, 'data' ],
    [ '--parts', 'x', @grid, 'data' ], [ '--extend', 'one' ],
    [ '--plan=x', 'data' ], [ '--by-fold', @grid, 'data' ],
    [ '--by-pair', 'data' ], [ qw(--plan --by-pair -v 3 data) ],
    [ qw(--plan --by-pair --by-fold data) ])
{
    is(grid(@$case)->{exit}, 2, "@$case");
}
# klr-train's own refusals.
put("$dir/bad", "1 1:x\n");
for my $case ([ 2, '--nonsense', 'data' ], [ 1, 'bad' ]) {
    my ($exit, @words) = @$case;
    my $refused = grid('--train', $train, '-v', 3, @words);
    is("$refused->{exit}$refused->{out}", $exit, "@words: status of klr-train");
}
is(grid('--plan', '-g', 'a', 'data')->{err}, "klr-grid: -g a: not numbers and "
        . "ranges FIRST:LAST:xFACTOR\n", 'no numbers');

done_testing();
