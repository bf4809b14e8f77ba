# SPDX-License-Identifier: BSD-3-Clause
#
# Commands of documents, run as a reader would run them: in a folder, by the
# shell, with the programs to be found.
package Documents;
use strict;
use warnings;
use Exporter 'import';
use Cwd ();
use Test::More;
use KLR;

our @EXPORT = qw(document_folder run_document has_gnu_parallel recipes
    cook);

# A new folder in which documents run, with what stands in for a cluster.
sub document_folder
{
    my $dir = scratch();
    mkdir "$dir/bin";
    put_sbatch("$dir/bin/sbatch");
    return $dir;
}

# Instead of a cluster: the script, or the wrapped command, for each task of the
# array.
sub put_sbatch
{
    my ($path) = @_;
    put($path, <<'END');
#!/usr/bin/perl
my $wraps = $ARGV[0] =~ /^--array/;
my ($command) = $wraps ? $ARGV[1] =~ /^--wrap=(.+)$/ : "sh -e $ARGV[0]" or die;
my @options = $wraps ? $ARGV[0] : map { /^#SBATCH (.*)/ } <>;
my ($first, $last) = "@options" =~ /--array=(\d+)-(\d+)/ or die;
for my $task ($first .. $last) {
    $ENV{SLURM_ARRAY_TASK_ID} = $task;
    system('sh', '-ec', $command) == 0 or die;
}
END
    chmod 0755, $path;
    return;
}

# Run commands in such a folder; env: more of the environment.
sub run_document
{
    my ($dir, $commands, %env) = @_;
    my $path = join ':', Cwd::abs_path(bin('.')), Cwd::getcwd() . '/tools',
        "$dir/bin", $ENV{PATH};
    return run([ 'sh', '-ec', $commands ], cwd => $dir,
        env => { PATH => $path, %env });
}

sub has_gnu_parallel
{
    return peer('parallel')
        && run([ 'parallel', '--version' ])->{out} =~ /^GNU parallel/;
}

# The recipes of the cookbook: hashes with title, commands and output.
sub recipes
{
    my (undef, @parts) = split /^## (.*)\n/m, get('docs/COOKBOOK.md');
    my @recipes;
    while (my ($title, $text) = splice @parts, 0, 2) {
        push @recipes, { title => $title,
            commands => join('', $text =~ /^```sh\n(.*?)^```$/msg),
            output => join('', $text =~ /^```text\n(.*?)^```$/msg) };
    }
    return @recipes;
}

# Whether two words are one, numbers within a hundredth: another processor may
# round otherwise.
sub is_alike
{
    my ($word, $other) = @_;
    return 1 if $word eq $other;
    my $number = qr/^(\D*?)(-?\d+(?:\.\d*)?)(\D*)$/;
    my @parts = $word =~ $number or return 0;
    my @others = $other =~ $number or return 0;
    return $parts[0] eq $others[0] && $parts[2] eq $others[2]
        && abs($parts[1] - $others[1]) <= 0.01 * abs($others[1]) + 0.005;
}

# Run a recipe: it is silent on stderr, and prints what the book has.
sub cook
{
    my ($recipe, %env) = @_;
    my $run = run_document(document_folder(), $recipe->{commands}, %env);
    is("$run->{exit} $run->{err}", '0 ', "$recipe->{title} runs");
    my @found = split /\n/, $run->{out};
    my @shown = split /\n/, $recipe->{output};
    for my $i (0 .. ($#found > $#shown ? $#found : $#shown)) {
        my @words = split ' ', $found[$i] // '';
        my @others = split ' ', $shown[$i] // '';
        next if @words == @others
            && !grep { !is_alike($words[$_], $others[$_]) } 0 .. $#words;
        return is($found[$i], $shown[$i],
            "$recipe->{title}: line @{[$i + 1]} of its output");
    }
    return cmp_ok(scalar @found, '>', 0, "$recipe->{title}: its output");
}

1;
