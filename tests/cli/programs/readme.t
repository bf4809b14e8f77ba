# SPDX-License-Identifier: BSD-3-Clause
#
# The README's commands work: every indented line is run, in order, in a folder
# that holds the programs and what the repository offers beside them.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use Cwd ();
use Documents;
use KLR;

my @commands = get('README') =~ /^    (\S.*)$/mg;
cmp_ok(scalar @commands, '>', 12, 'the README has commands');

my $dir = document_folder();
my $here = Cwd::getcwd();
symlink "$here/$_", "$dir/$_" or die $! for qw(heart_scale examples tools);

for my $command (@commands) {
    my $run;
    next if $command =~ m{^tools/|\bchurn\.} && !peer('python3');
    next if $command =~ /\bpart\.|\bparallel |--blocks|\bfold\./ && !has_gnu_parallel();
    if ($command =~ /^make (\w+)$/) {
        # What they do is tested by what runs this; here, that they are there.
        $run = run([ 'make', '-n', $1 ], env => { MAKEFLAGS => '' });
    } else {
        $run = run_document($dir, $command);
        unlike($run->{err}, qr/not found|rror/, "no complaint: $command");
    }
    is($run->{exit}, 0, $command) or diag($run->{out} . $run->{err});
    unlike($run->{err}, qr/./, 'klr-train -q is silent')
        if $command =~ /^klr-train -q/ && $command !~ /--max-iter/;
}

for my $file (get('README') =~ m{\b(docs/[\w.-]+\w|CONTRIBUTING|LICENSE)}g) {
    ok(-s $file, "$file is there");
}

is(get("$dir/task.3"), get("$dir/train.scaled.part.3"), 'a task is a part')
    if has_gnu_parallel();

like(get("$dir/output"), qr/\Alabels 1 -1\n-?1 [\d.e-]+ [\d.e-]+\n/,
    'the output is as described');

SKIP: {
    skip 'python3 is not installed', 2 unless peer('python3');
    my @answers = split /\n/, get("$dir/churn.answers");
    is(scalar @answers, 1000, 'an answer for each customer');
    is(scalar grep({/^(?:yes|no) [\d.e-]+ [\d.e-]+ # C\d+$/} @answers), 1000,
        'with probabilities and the name');
}

done_testing();
