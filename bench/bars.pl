#!/usr/bin/env perl
# SPDX-License-Identifier: BSD-3-Clause
#
# What the Newton method and the kernel layer promise, measured. A line for each
# bar, pass or MISSED; exits with 1 if one is missed.
#
#   KLR_DATA=FOLDER bench/bars.pl [SECTION]...
#
#   extreme   C = 1e6 on diabetes and german.numer: the gap of the true kernel,
#             found by the independent evaluator, is at most 1e-6
#   sparse    S-KLR on the ten sets of Consolo of at most 8000 examples, gamma
#             1, C = 1, 100, 1e4, lambda = 0, C/10, C: the gap of every model is
#             at most 1e-6, of those of at most 2000 as the evaluator finds it
#   path      nine values of C, 1e-2 to 1e6, on spambase and twonorm cost at
#             most 2.5 times the dearest of them alone, in passes and in seconds
#   memory    -m 100 on a9a: the model of -m 4000, in a resident memory of at
#             most data + model + 100 MB + 64 MB; the same of a grid on magic
#             with -m 50
#   bytes     the same model for -j 1, 2, 3, for -m 50 and 4000, over ten runs
#   grid      the 110 points that LIBSVM's grid script takes by default, five
#             folds, on german.numer, splice and image: at least 20 times faster
#             than svm-train and 5 times than klr-train at each point, in
#             seconds of processor, one thread
#   large     the same on spambase and a1a: a quarter of an hour and more
#   threads   two threads train at least 1.85 times faster than one (usps: 1.7,
#             10^6 rows: 1.8), medians of three runs by turns, of what takes one
#             thread more than 20 s one run, and write the same model; as many
#             as there are cores, up to 64, beside them
#   shrinking svm with shrinking (-h 1) takes at most 1.05 times its seconds of
#             the processor without, on hard and on noisy problems
#   apart     klr takes at most five times svm-train's seconds of the processor
#             where classes are apart but for one example in a thousand, C = 256
#   serial    klr and svm by two threads: one of them works alone for at most a
#             twentieth of the wall time; from that, and from the memory that is
#             read again in each pass, what 4, 16 and 64 cores would take
#   fresh     what is kept of K serves where new memory is cheap, 0.1 ns a byte,
#             and dear, 2.5 ns: seconds of the user, and that for each byte of
#             memory that was resident at most, by the default -m are at most
#             twice those of the best of -m 60, the default, and 4000
#   speed     klr and svm with the defaults but for gamma and C, one thread,
#             beside svm-train -m 4000: seconds of the processor, medians of
#             three runs by turns; bits are 6000 rows of 300, a quarter set
#   table     klr-csv makes data of 200,000 rows of 50 numbers in at most ten
#             seconds
use strict;
use warnings;
use FindBin ();
use lib "$FindBin::Bin/../tests/cli/lib";
use JSON::PP ();
use Judge      qw(uniform);
use KLR;
use List::Util qw(max min);
use POSIX qw(WNOHANG);
use Time::HiRes qw(sleep time);

chdir "$FindBin::Bin/.." or die "$FindBin::Bin/..: $!\n";
$| = 1;
die "KLR_DATA is not set: it names the folder of the data sets\n"
    unless defined $ENV{KLR_DATA};

my $dir = scratch();
my $missed = 0;

sub bar
{
    my ($pass, $format, @value) = @_;
    printf "%-6s $format\n", $pass ? 'pass' : 'MISSED', @value;
    $missed += !$pass;
    return;
}

sub prepared
{
    my ($set) = @_;
    return "$dir/$set" if -e "$dir/$set";
    my $run = run([ 'bench/prepare.sh', $set, $dir ]);
    die "$set: $run->{err}" if $run->{exit};
    return "$dir/$set";
}

# Train klr, or what options say; what --json said, one hash for each C.
sub train
{
    my ($set, $model, @options) = @_;
    my $run = run([ qw(klr-train -q --json -a newton), @options, prepared($set),
        "$dir/$model" ]);
    die "klr-train @options on $set: $run->{err}" if $run->{exit};
    my $said = JSON::PP::decode_json($run->{out});
    return ref $said eq 'ARRAY' ? @$said : $said;
}

# The gap of the model as the evaluator finds it; infinite if it is no number.
sub judged_gap
{
    my ($type, $set, @numbers) = @_;
    my $run = run([ tool('evaluate'), $type, prepared($set), "$dir/model",
        @numbers ]);
    die "evaluate: $run->{err}" if $run->{exit};
    return JSON::PP::decode_json($run->{out})->{model_gap} // 9**9**9;
}

sub extreme
{
    for my $set (qw(diabetes german.numer)) {
        my ($said) = train($set, 'model', qw(-g 0.5 -c 1e6));
        my $gap = judged_gap('klr', $set, 1e6);
        bar($gap <= 1e-6, '%s, C = 1e6: gap %.2e (reported %.2e), %.1f passes',
            $set, $gap, $said->{gap}, $said->{passes});
    }
    return;
}

sub sparse
{
    for my $set (qw(banknote diabetes ionosphere monk3 ringnorm_keel sonar
        spambase_keel twonorm waveform_bin wdbc))
    {
        my $small = (get(prepared($set)) =~ tr/\n//) <= 2000;
        my ($most, $count, $problems) = (0, 0, 0);
        for my $cost (1, 100, 1e4) {
            for my $lambda (0, $cost / 10, $cost) {
                my ($said) = train($set, 'model', qw(-s sklr --link sigma -g 1),
                    -c => $cost, -l => $lambda);
                my $gap = $small
                    ? judged_gap('sklr', $set, $cost, $lambda, 1e-5)
                    : $said->{gap} // 9**9**9;
                $count += $gap <= 1e-6;
                $most = $gap if $gap > $most;
                $problems++;
            }
        }
        bar($count == $problems, '%s: gaps of %d models at most %.2e%s', $set,
            $problems, $most, $small ? ', judged' : '');
    }
    return;
}

# Passes and seconds of a path are running totals: the last value has them all.
sub path
{
    my @costs = map {"1e$_"} -2 .. 6;
    for my $set (qw(spambase twonorm)) {
        my @single = map { (train($set, 'model', qw(-g 0.5 -c), $_))[0] }
            @costs;
        my @path = train($set, 'path', qw(-g 0.5 -c 0.01:1000000:x10));
        my ($passes) = sort { $b <=> $a } map { $_->{passes} } @single;
        my ($seconds) = sort { $b <=> $a } map { $_->{seconds}{train} } @single;
        my ($all, $time) = ($path[-1]{passes}, $path[-1]{seconds}{train});
        bar(@path == @costs && $all <= 2.5 * $passes,
            '%s, %d values of C: %.1f passes, the dearest alone %.1f: %.2f',
            $set, scalar @path, $all, $passes, $all / $passes);
        bar($time <= 2.5 * $seconds, '%s: %.2f s, the dearest alone %.2f: %.2f',
            $set, $time, $seconds, $time / $seconds);
        my ($gap) = sort { $b <=> $a } map { $_->{gap} } @path;
        bar($gap <= 1e-6, '%s: largest gap on the path %.2e', $set, $gap);
    }
    return;
}

# MB of the most resident memory that a process had while it ran; `look`, if it
# is given, is called all the while with its folder in /proc.
sub peak
{
    my ($run, $look) = @_;
    my ($folder, $most) = ("/proc/$run->{pid}", 0);
    while (waitpid($run->{pid}, WNOHANG) == 0) {
        if (open my $status, '<', "$folder/status") {
            local $/;
            $most = $1 if <$status> =~ /^VmHWM:\s*(\d+) kB/m;
        }
        $look->($folder) if $look;
        sleep 0.005;
    }
    die "klr-train: exit $?: " . get($run->{err_file}) if $?;
    return $most / 1024;
}

# Data in memory, in MB: an index (4 bytes) and a value (8) for each feature,
# of which the text shows the number by its colons; rows by 64 bytes each are
# ample.
sub held
{
    my ($data) = @_;
    my $text = get($data);
    return (12 * ($text =~ tr/://) + 64 * ($text =~ tr/\n//)) / 1048576;
}

sub memory
{
    my $data = prepared('a9a');
    my %size;
    for my $mb (100, 4000) {
        my $run = start([ qw(klr-train -q -s klr -g 0.0625 -c 1 -m), $mb, $data,
            "$dir/m$mb" ]);
        $size{$mb} = peak($run);
    }
    my $most = held($data) + (-s "$dir/m100") / 1048576 + 100 + 64;
    bar($size{100} <= $most, 'a9a, -m 100: %.0f MB resident, at most %.0f'
        . ' (-m 4000: %.0f)', $size{100}, $most, $size{4000});
    bar(get("$dir/m100") eq get("$dir/m4000"),
        'a9a: the same model for -m 100 and -m 4000');
    $data = prepared('magic');
    my $grid = 'klr-train -q -s klr -v 5 -g 0.5,2 -c 0.1,1 -m 50';
    my $size = peak(start([ split(/ /, $grid), $data, '/dev/null' ]));
    $most = held($data) + 50 + 64;
    bar($size <= $most, 'magic, a grid with -m 50: %.0f MB resident, at most '
        . '%.0f', $size, $most);
    $data = generated('gaussians', 50_000, 5);
    $size = peak(start([ qw(klr-train -q --time-limit 20 -g 0.2 -c 1000 -m 60),
        $data, "$dir/begun" ]));
    $most = held($data) + (-s "$dir/begun") / 1048576 + 60 + 64;
    bar($size <= $most, '50,000 rows of 5 features, C = 1000, -m 60: %.0f MB'
        . ' resident, at most %.0f', $size, $most);
    return;
}

sub bytes
{
    my @case = ((map { [ '-j', $_, '-m', 4000 ] } 1 .. 3), [qw(-j 2 -m 50)],
        map { [qw(-j 3)] } 1 .. 10);
    for my $set (qw(twonorm banana)) { # more than 50 MB of tiles each
        my %text;
        for my $case (@case) {
            train($set, 'model', qw(-g 0.5 -c 1), @$case);
            $text{ get("$dir/model") } = 1;
        }
        bar(keys %text == 1, '%s: %d models from %d runs', $set,
            scalar keys %text, scalar @case);
    }
    return;
}

# Seconds of processor that a command takes.
sub cost_of
{
    my (@command) = @_;
    my ($user, $system) = (times)[ 2, 3 ];
    my $run = run([@command]);
    die "@command: $run->{err}" if $run->{exit};
    my @now = (times)[ 2, 3 ];
    return $now[0] - $user + $now[1] - $system;
}

sub grids
{
    my @gamma = map { 2 ** (3 - 2 * $_) } 0 .. 9;
    my @cost = map { 2 ** (2 * $_ - 5) } 0 .. 10;
    my $peer = svm_train();
    for my $set (@_) {
        my @fold = (qw(-q -v 5), '-m', 2000);
        my @klr = (qw(klr-train -s klr -j 1), @fold);
        my ($theirs, $calls, $data) = (0, 0, prepared($set));
        my $grid = cost_of(@klr, '-g', join(',', @gamma), '-c',
            join(',', @cost), $data, '/dev/null');
        for my $gamma (@gamma) {
            for my $cost (@cost) {
                my @point = ('-g', $gamma, '-c', $cost, $data);
                $theirs += cost_of($peer, @fold, @point);
                $calls += cost_of(@klr, @point);
            }
        }
        bar($theirs >= 20 * $grid, '%s: grid %.2f s, svm-train %.2f: %.1f',
            $set, $grid, $theirs, $theirs / $grid);
        bar($calls >= 5 * $grid, '%s: calls %.2f s: %.1f', $set, $calls,
            $calls / $grid);
    }
    return;
}

sub grid
{
    return grids(qw(german.numer splice image));
}

sub large
{
    return grids(qw(spambase a1a));
}

# Rows of the kind that bench/points.py knows by that name.
sub generated
{
    my ($kind, $n, $features) = @_;
    my $run = run([ qw(python3 bench/points.py), $kind, $n, $features, 1 ]);
    die "points.py: $run->{err}" if $run->{exit};
    return put("$dir/$kind$features", $run->{out});
}

# Runs of some length, their models and options, and how many times faster two
# threads shall be than one.
sub divided
{
    my $ring = generated('ring', 100_000, 20);
    my $many = generated('gaussians', 1_000_000, 20);
    my @rows;
    for my $row (tuned()) {
        my ($set, $gamma, $cost) = @$row;
        push @rows, [ "$_, $set", $set eq 'usps' ? 1.7 : 1.85, '-s', $_, '-g',
            $gamma, '-c', $cost, prepared($set) ] for qw(klr svm);
    }
    push @rows, map { [ "$_, ring", 1.85, '-s', $_, $ring ] } qw(klr svm);
    push @rows, map { [ "klr, 10^6 rows, --basis $_", 1.8, '--basis', $_,
            qw(--basis-bound none), $many ] } 50, 1000;
    return @rows;
}

sub threads
{
    my $cores = run(['nproc'])->{out};
    my @threads = grep { $_ <= $cores } 1, 2, 4, 8, 16, 32, 64;
    print '       threads ', join(', ', @threads), ": seconds\n";
    for my $row (divided()) {
        my ($name, $least, @command) = @$row;
        my (%seconds, %text);
        for my $k (1 .. 3) {
            last if $k > 1 && $seconds{1}[0] > 20;
            for my $j (@threads) {
                my $begin = time;
                my $run = run([ qw(klr-train -q -j), $j, @command,
                    "$dir/model" ]);
                push @{ $seconds{$j} }, time - $begin;
                die "$name: $run->{err}" if $run->{exit};
                $text{ get("$dir/model") } = 1;
            }
        }
        my @median = map { median(@{ $seconds{$_} }) } @threads;
        my @ratio = map { sprintf '%.2f', $median[0] / $_ }
            @median[1 .. $#median];
        bar(keys %text == 1 && @ratio && $ratio[0] >= $least, '%s: %s: %s',
            $name, join(' ', map { sprintf '%.3f', $_ } @median), "@ratio");
    }
    return;
}

# Rows of 300 bits, a quarter of them set; 30 of them make the label, but for one
# in twenty.
sub noisy_bits
{
    my ($n) = @_;
    my $random = uniform(1);
    my $rows = '';
    for (1 .. $n) {
        my @set = grep { $random->() < 0.25 } 1 .. 300;
        my $sum = grep { $_ <= 15 } @set;
        $sum -= grep { $_ > 15 && $_ <= 30 } @set;
        my $label = ($random->() < 0.05) == ($sum > 0) ? -1 : 1;
        $rows .= join(' ', $label, map {"$_:1"} @set) . "\n";
    }
    return $rows;
}

sub svm_train
{
    return peer('svm-train') // peer('libsvm-train')
        // die "svm-train is not installed\n";
}

# Seconds of the processor of svm-train ("theirs") and of our models with these
# arguments: medians of three runs by turns.
sub by_turns
{
    my ($arguments, @models) = @_;
    my @point = ('-q', @$arguments, "$dir/model");
    my %seconds;
    for (1 .. 3) {
        push @{ $seconds{theirs} }, cost_of(svm_train(), qw(-m 4000), @point);
        push @{ $seconds{$_} }, cost_of(qw(klr-train -j 1 -s), $_, @point)
            for @models;
    }
    return map { ($_ => median(@{ $seconds{$_} })) } keys %seconds;
}

sub speed
{
    put("$dir/bits", noisy_bits(6000));
    my @rows = (
        # set, gamma, C, what klr and svm may take of svm-train's time
        [ banana => 0.5, 1, 0.12, 0.12 ], [ magic => 0.5, 1, 0.1, 0.08 ],
        [ spambase => 0.5, 8, 0.25, 0.2 ],
        [ usps => 0.0078125, 8, 0.15, 0.1 ],
        [ a9a => 0.0625, 1, 0.08, 0.07 ], [ ijcnn1 => 1, 8, 0.8, 0.6 ],
        [ bits => 0.01, 1, 0.1, 0.1 ]);
    for my $row (@rows) {
        my ($set, $gamma, $cost, %most) = (@$row[0 .. 2], klr => $row->[3],
            svm => $row->[4]);
        my %median = by_turns([ '-g', $gamma, '-c', $cost, prepared($set) ],
            sort keys %most);
        for my $model (sort keys %most) {
            my $ratio = $median{$model} / $median{theirs};
            bar($ratio <= $most{$model},
                '%s, %s: %.3f s, svm-train %.2f s: %.3f of at most %.2f',
                $set, $model, $median{$model}, $median{theirs}, $ratio,
                $most{$model});
        }
    }
    return;
}

# Seconds of the user that a command takes, and the most bytes of memory that it
# has: pages that are new to it are of several sizes.
sub work_of
{
    my $run = start([@_]);
    my ($state, $most, @stat) = ('', 0);
    while ($state ne 'Z') {
        sleep 0.01;
        $most = 1024 * $1
            if get("/proc/$run->{pid}/status") =~ /^VmHWM:\s+(\d+) kB$/m;
        ($state, @stat) = split ' ',
            get("/proc/$run->{pid}/stat") =~ s/^.*[)] //sr;
    }
    waitpid $run->{pid}, 0;
    die "@_: exit $?: " . get($run->{err_file}) if $?;
    return ($stat[10] / POSIX::sysconf(POSIX::_SC_CLK_TCK()), $most);
}

# Sets of some size, gamma and C.
sub tuned
{
    return ([ magic => 0.5, 1 ], [ usps => 0.0078125, 8 ],
        [ a9a => 0.0625, 1 ], [ ijcnn1 => 1, 8 ]);
}

sub normal
{
    my ($random) = @_;
    return sub {
        return sqrt(-2 * log $random->()) * cos(2 * atan2(0, -1) * $random->());
    };
}

# Three normal clusters of each of two classes; every fifth label is drawn.
sub noisy_clusters
{
    my ($n, $d) = @_;
    my $random = uniform(1);
    my $normal = normal($random);
    my @centre = map { [ map { $normal->() } 1 .. $d ] } 1 .. 6;
    return join '', map {
        my $cluster = int(6 * $random->());
        my $label = $random->() < 0.2 ? int(2 * $random->()) : $cluster % 2;
        my $of = $centre[$cluster];
        join(' ', $label, map { sprintf '%d:%.4f', $_,
                $of->[$_ - 1] + 1.2 * $normal->() } 1 .. $d) . "\n"
    } 1 .. $n;
}

sub shrinking
{
    put("$dir/clusters", noisy_clusters(15000, 5));
    my $odd = sub { return $_[0] % 2 ? 1 : -1 };
    put("$dir/letter-odd", get(prepared('letter')) =~ s/^(\d+)/$odd->($1)/gmer);
    my @rows = ([ a9a => 2**-6, 16 ], [ 'letter-odd' => 1, 16 ],
        [ 'letter-odd' => 2**-4, 256 ], [ magic => 1, 256 ],
        [ clusters => 0.2, 100 ]);
    for my $row (@rows) {
        my ($set, $gamma, $cost) = @$row;
        my %seconds;
        for (1 .. 3) {
            push @{ $seconds{$_} }, cost_of(qw(klr-train -q -j 1 -s svm -h), $_,
                '-g', $gamma, '-c', $cost, prepared($set), "$dir/model")
                for 0, 1;
        }
        my ($without, $with) = map { median(@{ $seconds{$_} }) } 0, 1;
        bar($with <= 1.05 * $without, '%s, gamma %g, C = %g: %.2f s, without '
            . 'shrinking %.2f: %.2f', $set, $gamma, $cost, $with, $without,
            $with / $without);
    }
    return;
}

# 40,000 rows of nine features in [0,1], which deviate by 0.05 from the centre of
# their cluster, or, with long tails, as Student's t of two degrees of freedom.
# One label in a thousand is wrong.
sub nearly_apart
{
    my ($tails, @centre) = @_;
    my $random = uniform(1);
    my $normal = normal($random);
    return join '', map {
        my $cluster = int(@centre * $random->());
        my $label = ($cluster + ($random->() < 0.001)) % 2;
        my $spread = 0.05 / ($tails ? sqrt(-log $random->()) : 1);
        my @x = map { max(0, min(1, $_ + $spread * $normal->())) }
            @{ $centre[$cluster] };
        join(' ', $label, map { sprintf '%d:%.4f', $_, $x[ $_ - 1 ] } 1 .. 9)
            . "\n"
    } 1 .. 40000;
}

sub apart
{
    my $random = uniform(2);
    my @two = ([ (0.3) x 9 ], [ (0.7) x 9 ]);
    my @twelve = map { [ map { 0.2 + 0.6 * $random->() } 1 .. 9 ] } 1 .. 12;
    put("$dir/normal", nearly_apart(0, @two));
    put("$dir/tails", nearly_apart(1, @two));
    put("$dir/twelve", nearly_apart(0, @twelve));
    for my $set (qw(normal tails twelve)) {
        my %median = by_turns([ qw(-g 8 -c 256), "$dir/$set" ], 'klr');
        my ($klr, $theirs) = @median{qw(klr theirs)};
        bar($klr <= 5 * $theirs, '%s: %.1f s, svm-train %.1f s: %.1f',
            $set, $klr, $theirs, $klr / $theirs);
    }
    return;
}

# Seconds of the processor of each thread of a run, the largest first, MB of its
# most resident memory, and what --json said.
sub threads_of
{
    my $run = start([@_]);
    my %spent;
    my $peak = peak($run, sub {
        for my $file (glob "$_[0]/task/*/schedstat") {
            open my $in, '<', $file or next; # it has ended
            my ($spent) = split ' ', <$in> // 0;
            $spent{$file} = $spent / 1e9;
        }
    });
    return ([ sort { $b <=> $a } values %spent ], $peak,
        JSON::PP::decode_json(get($run->{out_file})));
}

# Of two threads the second works only where both do, or looks out for tasks for
# a moment: what the first works longer is its own. Other cores divide the rest,
# but none is faster than its share of the memory that passes read, were all of
# it read in each.
sub serial
{
    my $bandwidth = 100e3; # MB a second of all cores, as servers have at least
    for my $row (map { my $r = $_; map { [ $_, @$r ] } qw(klr svm) } tuned()) {
        my ($model, $set, $gamma, $cost) = @$row;
        my @runs = map { [ threads_of(qw(klr-train -q --json -j 2 -s), $model,
            '-g', $gamma, '-c', $cost, prepared($set), "$dir/model") ] } 1 .. 3;
        my ($run) = (sort { $a->[0][0] <=> $b->[0][0] } @runs)[1];
        my ($spent, $peak, $said) = @$run;
        my ($wall, $both) = ($spent->[0], $spent->[1] // 0);
        my $alone = $wall - $both;
        my $read = $peak * ($said->{passes} // 0) / $bandwidth;
        my @cores = map { my $share = 2 * $both / $_;
            $alone + ($share > $read ? $share : $read) } 4, 16, 64;
        bar($alone <= 0.05 * $wall, '%s, %s: %.3f s, of these by one thread '
            . '%.1f %%; 4, 16, 64 cores: %.3f %.3f %.3f s', $set, $model, $wall,
            100 * $alone / $wall, @cores);
    }
    return;
}

sub fresh
{
    my @memory = ([qw(-m 60)], [], [qw(-m 4000)]);
    for my $row (map { my $r = $_; map { [ $_, @$r ] } qw(klr svm) } tuned()) {
        my ($model, $set, $gamma, $cost) = @$row;
        my (@work, %text);
        for my $m (0 .. $#memory) {
            my @runs = map { [ work_of(qw(klr-train -q -j 1 -s), $model,
                @{ $memory[$m] }, '-g', $gamma, '-c', $cost, prepared($set),
                "$dir/model") ] } 1 .. 3;
            $text{ get("$dir/model") } = 1;
            $work[$m] = [ map { my $k = $_; median(map { $_->[$k] } @runs) }
                0, 1 ];
        }
        for my $price (0.1, 2.5) {
            my @cost = map { $_->[0] + 1e-9 * $price * $_->[1] } @work;
            my ($best) = sort { $a <=> $b } @cost;
            bar($cost[1] <= 2 * $best && keys %text == 1,
                '%s, %s, %.1f ns a byte: %.2f s, -m 60 %.2f, -m 4000 %.2f:'
                . ' %.2f of the best', $set, $model, $price, @cost[1, 0, 2],
                $cost[1] / $best);
        }
    }
    return;
}

sub table
{
    my $random = uniform(1);
    open my $out, '>', "$dir/table" or die "$dir/table: $!\n";
    print {$out} join(',', 'y', map {"x$_"} 1 .. 50), "\n";
    for (1 .. 200_000) {
        print {$out} join(',', int 2 * $random->(),
            map { sprintf '%.3f', 4 * $random->() - 2 } 1 .. 50), "\n";
    }
    close $out or die "$dir/table: $!\n";
    my $start = time;
    my $run = run([ qw(tools/klr-csv -q -l y), "$dir/table", "$dir/data" ]);
    die "klr-csv: $run->{err}" if $run->{exit};
    my $seconds = time - $start;
    bar($seconds <= 10, '200,000 rows of 50 numbers: %.1f s', $seconds);
    return;
}

my @sections = (extreme => \&extreme, sparse => \&sparse, path => \&path,
    memory => \&memory, bytes => \&bytes, grid => \&grid, large => \&large,
    threads => \&threads, shrinking => \&shrinking, apart => \&apart,
    serial => \&serial, fresh => \&fresh, speed => \&speed, table => \&table);
my %wanted = map { ($_ => 1) } @ARGV;
while (my ($name, $section) = splice @sections, 0, 2) {
    next if @ARGV && !delete $wanted{$name};
    print "$name\n";
    $section->();
}
die "no such section: @{[ sort keys %wanted ]}\n" if @ARGV && %wanted;
exit($missed > 0);
