# SPDX-License-Identifier: BSD-3-Clause
#
# Predictions in blocks: what klr-grid --finish puts together has the bytes of
# one klr-predict, by sh, GNU parallel and as Slurm runs the blocks.
use strict;
use warnings;
no warnings 'qw'; # lists of numbers
use lib 'tests/cli/lib';
use Cwd 'getcwd';
use Test::More;
use KLR;

plan skip_all => 'python3 is not installed' unless peer('python3');

my $dir = scratch();
my $predict = Cwd::abs_path(bin('klr-predict'));
my $tool = getcwd() . '/tools/klr-grid';
my $heart = get('heart_scale');
put("$dir/data", $heart);
put("$dir/three", join '', map { $_ % 3 . " 1:" . $_ % 7 . " 2:$_\n" } 1 .. 60);
for my $model ([ 'klr', 'data' ], [ 'labels', 'data', qw(-s svm) ],
    [ 'classes', 'three', qw(-g 0.1) ])
{
    my ($name, $data, @option) = @$model;
    is(run([ 'klr-train', '-q', @option, "$dir/$data", "$dir/$name" ])->{exit},
        0, "model $name");
}

sub grid { return run([ $tool, '--predict', $predict, @_ ], cwd => $dir) }
sub whole { return run([ $predict, '-q', @_ ], cwd => $dir) }
sub sh { return run([ 'sh', '-c', $_[0] ], cwd => $dir) }

# Both ways to answer a file, whose outputs are named.
sub compare
{
    my ($blocks, $options, $test, $model, $title) = @_;
    my $plan = grid('--plan', '--blocks', $blocks, @$options, $test, $model,
        'out');
    is($plan->{err}, '', "$title: a plan");
    my @command = split /\n/, $plan->{out};
    sh($_) for @command;
    my $run = grid('--finish', '--blocks', $blocks, @$options, $test, $model,
        'out');
    is("$run->{exit}$run->{out}$run->{err}", 0, "$title: put together");
    whole(@$options, $test, $model, 'at.once');
    is(get("$dir/out"), get("$dir/at.once"), "$title: the bytes of one run");
    unlink map {"$dir/$_"} qw(out at.once), glob "$dir/out.part.*";
    return scalar @command;
}

# ---- Files of any kind, and options ----

is(compare(7, [], 'data', 'klr', 'seven blocks'), 7, 'a command each');
compare(3, [], 'data', 'labels', 'no probabilities');
compare(4, [qw(--decision)], 'three', 'classes', 'decision values');
compare(11, [qw(-b 0 -j 1)], 'three', 'classes', 'labels alone');
compare(5, [qw(--cost 1,5 --no-header)], 'data', 'klr', 'no line of labels');

# Blocks of a line, of comment only, and fewer lines than blocks; the last line
# ends with the file.
put("$dir/odd", "# head\n\n" . join("\r\n", (split /\n/, $heart)[ 0 .. 9 ])
        . " # ten\n\n  \n# tail" . ' long' x 300 . "\n# end");
cmp_ok(compare(40, [], 'odd', 'klr', 'more blocks than rows'), '<=', 16,
    'none of them empty');
compare(5, [qw(--keep-going --unlabelled --id comment)], 'odd', 'klr',
    'every line a row');
put("$dir/bad", $heart =~ s/(.*\n){20}\K[^\n]*/1 1:x/r);
is(compare(6, ['--keep-going'], 'bad', 'klr', 'a bad row'), 6, 'answered by ?');
for my $name ("bad\xFF \xE2\x80\xA8b", q(a$x%d, "b"'s), '-x') {
    put("$dir/$name", $heart);
    compare(2, ['--'], $name, 'klr', 'data of any name');
}

# ---- Schedulers ----

my @task = qw(--blocks 5 data klr);
whole(qw(data klr at.once));
SKIP: {
    my $parallel = peer('parallel') or skip 'GNU parallel is not installed', 2;
    my $plan = grid('--plan', @task, 'it is')->{out};
    is(run([ $parallel, '-j', 2 ], stdin => $plan, cwd => $dir)->{exit}, 0,
        'GNU parallel');
    grid('--finish', @task, 'it is');
    is(get("$dir/it is"), get("$dir/at.once"), 'and its blocks');
}
put("$dir/array", grid('--plan', 'slurm', '--parts', 'task', @task, 'array.out')
        ->{out});
like(get("$dir/array"), qr/^#SBATCH --array=1-5$/m, 'an array of five');
my %env = (SLURM_JOB_ID => 77, SLURM_CPUS_PER_TASK => 2);
run([ 'sh', 'array' ], cwd => $dir, env => { %env, SLURM_ARRAY_TASK_ID => $_ })
    for 1 .. 5;
is(grid('--finish', '--parts', 'task', @task, '-')->{out}, get("$dir/at.once"),
    'as Slurm runs it, on stdout');

# A queue of HTCondor, whose syntax of arguments is read by its rules.
my $queue = grid('--plan', 'condor', @task, 'condor.out')->{out};
my ($arguments) = $queue =~ /^arguments = "(.*)"$/m;
my ($names, $lines) = $queue =~ /^queue (.*) from \(\n(.*)\)$/ms;
$arguments =~ s/""/"/g;
my @words = map { s/''/'/gr } map { defined $_ ? $_ : () }
    $arguments =~ /'((?:[^']|'')*)'|([^\s']+)/g;
for my $line (split /\n/, $lines) {
    my %value = (DOLLAR => '$', cpus => 1);
    @value{ split /, /, $names } = split /, /, $line;
    run([ '/bin/sh', map { s/\$\((\w+)\)/$value{$1}/gr } @words ],
        cwd => $dir);
}
is(grid('--finish', @task, 'condor.out')->{err}, '', 'as HTCondor runs it');
is(get("$dir/condor.out"), get("$dir/at.once"), 'the same bytes');

# ---- Parts that are missing, or of something else ----

put("$dir/old", "kept\n");
grid('--plan', qw(--parts p), @task, 'old');
rename "$dir/task.$_", "$dir/p.$_" for 1 .. 5;
unlink "$dir/p.2", "$dir/p.5";
my $lost = grid('--finish', '--parts', 'p', @task, 'old');
is("$lost->{exit}$lost->{err}",
    "1klr-grid: p.2: No such file\nklr-grid: p.5: No such file\n",
    'missing parts are named');
put("$dir/p.2", get("$dir/p.1") =~ s/.*\n//r);
put("$dir/p.5", "1 0.5 0.5\n");
like(grid('--finish', '--parts', 'p', @task, 'old')->{err},
    qr/^klr-grid: p\.\d has \d+ answers?, and its block \d+ rows: it is of /,
    'a part of other blocks is refused');
is(get("$dir/old"), "kept\n", 'and what was there stays');

# ---- Wrong usage ----

for my $case ([ 2, @task, 'x' ], [ 2, '--plan', '--blocks', 0, qw(data klr x) ],
    [ 2, '--plan', '--extend', @task, 'x' ], [ 1, '--plan', @task ],
    [ 1, '--plan', @task, 'klr' ], [ 1, '--finish', @task, 'data' ],
    [ 1, '--plan', '--json', @task, 'x' ], [ 2, '--plan', 'data' ])
{
    my ($exit, @words) = @$case;
    my $run = grid(@words);
    is("$run->{exit}$run->{out}", $exit, "@words") or diag($run->{err});
}

done_testing();
