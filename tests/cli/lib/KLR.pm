# SPDX-License-Identifier: BSD-3-Clause
#
# What the command-line tests share: where the programs are, how to run one,
# scratch folders and files, and what else may be there to compare with.
package KLR;
use strict;
use warnings;
use Exporter 'import';
use File::Spec ();
use File::Temp ();
use JSON::PP ();
use POSIX ();
use Test::More ();

our @EXPORT = qw(bin tool sanitized preload hasty start wait_until wait_for
    finish run printed_json scratch put get of_any_origin peer data median);

my %scratch; # File::Temp objects: a folder goes when its process ends
my $paths = 0;
my %running; # commands by process

# A test that runs for $KLR_LIMIT seconds waits for ever, and fails: it says for
# what, with the states of its threads.
$SIG{ALRM} = sub {
    for my $pid (keys %running) {
        my @threads = map { [ split ' ', get($_) ] }
            glob "/proc/$pid/task/*/stat";
        Test::More::diag("still running: $running{$pid}; threads: ",
            join ' ', map {"$_->[2] after $_->[13] ticks"} @threads);
        kill 'KILL', $pid;
    }
    die "no end in $ENV{KLR_LIMIT} s\n";
};
alarm($ENV{KLR_LIMIT} // 0);

# Programs under test are in $KLR_BIN, tools of the tests in $KLR_BUILD/tests.
sub bin
{
    my ($name) = @_;
    return ($ENV{KLR_BIN} // '.') . "/$name";
}

sub tool
{
    my ($name) = @_;
    return ($ENV{KLR_BUILD} // 'build') . "/tests/$name";
}

# Whether the programs under test are built with a sanitizer.
sub sanitized { return bin('') =~ m{build/(sanitize|asan|ubsan|threads)\b} }

# A library of tests/preload as LD_PRELOAD may have it: the loader divides its
# list at spaces, and so is given a link. undef: it is not built.
sub preload
{
    my ($name) = @_;
    my $library = File::Spec->rel2abs(tool($name));
    return undef if !-e $library;
    my $link = scratch() . "/$name";
    symlink $library, $link or die "$link: $!\n";
    return $link;
}

# The environment in which the clock of a program runs ten times as fast. A
# sanitizer has to be loaded first, and goes by the clock as it is.
my $haste;

sub hasty
{
    $haste //= preload('haste.so') if !sanitized();
    return $haste ? { LD_PRELOAD => $haste } : {};
}

# A path that nothing has, in a folder of the process: to have File::Temp find a
# name for each takes longer than many a run. That folder's name has the process
# in it: tests seed rand, and names that come from rand alone would be those of
# the same test beside it. Other users may pass through it.
sub fresh
{
    if (!$scratch{$$}) {
        $scratch{$$} = File::Temp->newdir("klr-$$-XXXXXX", TMPDIR => 1);
        chmod 0711, $scratch{$$}->dirname;
    }
    return $scratch{$$}->dirname . '/' . ++$paths;
}

# A new folder.
sub scratch
{
    my $folder = fresh();
    mkdir $folder, 0700 or die "$folder: $!\n";
    return $folder;
}

sub put
{
    my ($path, $text) = @_;
    open my $file, '>:raw', $path or die "$path: $!";
    print $file $text;
    close $file or die "$path: $!";
    return $path;
}

sub get
{
    my ($path) = @_;
    open my $file, '<:raw', $path or die "$path: $!";
    local $/;
    return scalar <$file>;
}

# Start a command, [name, arguments...]; names klr-* are the programs under
# test. Options: stdin (text) or stdin_file, stdout_file, stderr_file, cwd,
# env (a hash), ignored (a signal). Returns a hash with its pid, to be given to
# finish().
sub start
{
    my ($command, %option) = @_;
    my @command = @$command;
    $command[0] = bin($command[0]) if $command[0] =~ /^klr-[a-z]+$/;
    $command[0] = POSIX::getcwd() . "/$command[0]"
        if $option{cwd} && $command[0] =~ m{^[^/].*/|^\.};
    my $path = fresh();
    my $in = $option{stdin_file} // '/dev/null';
    $in = put("$path.in", $option{stdin}) if defined $option{stdin};
    my %run = (
        out_file => $option{stdout_file} // "$path.out",
        err_file => $option{stderr_file} // "$path.err",
    );
    $run{pid} = fork() // die "fork: $!";
    $running{ $run{pid} } = "@command";
    return \%run if $run{pid};
    @SIG{qw(HUP INT QUIT TERM)} = ('DEFAULT') x 4; # nohup, shells ignore some
    $SIG{$_} = 'IGNORE' for $option{ignored} // ();
    open(STDIN, '<', $in) && open(STDOUT, '>', $run{out_file})
        && open(STDERR, '>', $run{err_file}) || POSIX::_exit(127);
    chdir $option{cwd} || POSIX::_exit(127) if $option{cwd};
    @ENV{ keys %{ $option{env} } } = values %{ $option{env} } if $option{env};
    { no warnings 'exec'; exec { $command[0] } @command; }
    POSIX::_exit(127);
}

# Whether it has ended, with its status from then on; flags are those of waitpid.
sub ended
{
    my ($run, $flags) = @_;
    $run->{status} = $? if waitpid($run->{pid}, $flags) > 0;
    return defined $run->{status};
}

# Wait until there is a sign, not for a time. False if it ends without; the
# minutes only keep a program that goes on from hanging the tests.
sub wait_until
{
    my ($run, $sign) = @_;
    for (1 .. 2400) {
        my $ended = ended($run, POSIX::WNOHANG());
        return 1 if $sign->();
        return 0 if $ended;
        select undef, undef, undef, 0.05;
    }
    kill 'KILL', $run->{pid};
    return 0;
}

# Wait until its stderr shows the pattern.
sub wait_for
{
    my ($run, $sign) = @_;
    return wait_until($run,
        sub { -e $run->{err_file} && get($run->{err_file}) =~ $sign });
}

# Wait for its end: adds exit (the status, or 128 + the signal that killed it),
# out and err (what it printed, where that went to a regular file).
sub finish
{
    my ($run) = @_;
    ended($run, 0);
    delete $running{ $run->{pid} };
    my ($signal, $exit) = ($run->{status} & 127, $run->{status} >> 8);
    $run->{exit} = $signal ? 128 + $signal : $exit;
    $run->{out} = -f $run->{out_file} ? get($run->{out_file}) : '';
    $run->{err} = -f $run->{err_file} ? get($run->{err_file}) : '';
    return $run;
}

sub run
{
    return finish(start(@_));
}

# The JSON that a run printed, an empty hash where it is none.
sub printed_json
{
    my ($run) = @_;
    my $object = eval { JSON::PP::decode_json($run->{out}) };
    Test::More::is($@, '', 'stdout is JSON')
        or Test::More::diag($run->{out} . $run->{err});
    return $object // {};
}

# A model without what it says of the data and the options it comes from.
sub of_any_origin
{
    my ($model) = @_;
    return $model =~ s/^(?:data|weights|options) .*\n//mgr;
}

# The path of another program, or undef where it is not installed.
sub peer
{
    my ($name) = @_;
    for my $folder (split /:/, $ENV{PATH} // '') {
        return "$folder/$name" if -f "$folder/$name" && -x _;
    }
    return undef;
}

# The path of a data set in $KLR_DATA, or undef.
sub data
{
    my ($name) = @_;
    return undef unless defined $ENV{KLR_DATA};
    my $path = "$ENV{KLR_DATA}/$name";
    return -r $path ? $path : undef;
}

# Of numbers, one at least.
sub median
{
    my @sorted = sort { $a <=> $b } @_;
    return ($sorted[ $#sorted / 2 ] + $sorted[ @sorted / 2 ]) / 2;
}

1;
