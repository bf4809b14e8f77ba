# SPDX-License-Identifier: BSD-3-Clause
#
# The README's commands work: every indented line is run, in order, in a folder
# that holds the programs and what the repository offers beside them.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use Cwd ();
use KLR;

sub gnu_parallel
{
    return peer('parallel')
        && run([ 'parallel', '--version' ])->{out} =~ /^GNU parallel/;
}

# Instead of a cluster: the wrapped command, for each task of the array.
sub sbatch
{
    my ($path) = @_;
    put($path, <<'END');
#!/usr/bin/perl
my ($first, $last) = $ARGV[0] =~ /^--array=(\d+)-(\d+)$/ or die;
my ($command) = $ARGV[1] =~ /^--wrap=(.+)$/ or die;
for my $task ($first .. $last) {
    $ENV{SLURM_ARRAY_TASK_ID} = $task;
    system('sh', '-ec', $command) == 0 or die;
}
END
    chmod 0755, $path;
    return;
}

my @commands = get('README') =~ /^    (\S.*)$/mg;
cmp_ok(scalar @commands, '>', 12, 'the README has commands');

my $dir = scratch();
my $here = Cwd::getcwd();
my $programs = Cwd::abs_path(bin('.'));
mkdir "$dir/bin";
sbatch("$dir/bin/sbatch");
symlink "$here/$_", "$dir/$_" or die $! for qw(heart_scale docs tools);

for my $command (@commands) {
    my $run;
    next if $command =~ m{^tools/} && !peer('python3');
    next if $command =~ /\bpart\./ && !gnu_parallel();
    if ($command =~ /^make (\w+)$/) {
        # What they do is tested by what runs this; here, that they are there.
        $run = run([ 'make', '-n', $1 ], env => { MAKEFLAGS => '' });
    } else {
        $run = run([ 'sh', '-ec', $command ], cwd => $dir,
            env => { PATH => "$programs:$dir/bin:$ENV{PATH}" });
        unlike($run->{err}, qr/not found|rror/, "no complaint: $command");
    }
    is($run->{exit}, 0, $command) or diag($run->{out} . $run->{err});
    unlike($run->{err}, qr/./, 'klr-train -q is silent')
        if $command =~ /^klr-train -q/ && $command !~ /--max-iter/;
}

for my $file (get('README') =~ m{\b(docs/[\w.-]+\w|CONTRIBUTING|LICENSE)}g) {
    ok(-s $file, "$file is there");
}

is(get("$dir/task.2") =~ s/"seconds.*//rs,
    get("$dir/part.3") =~ s/"seconds.*//rs,
    'a task is a part') if gnu_parallel();

like(get("$dir/output"), qr/\Alabels 1 -1\n-?1 [\d.e-]+ [\d.e-]+\n/,
    'the output is as described');

done_testing();
