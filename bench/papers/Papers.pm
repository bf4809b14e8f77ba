# SPDX-License-Identifier: BSD-3-Clause
#
# What the scripts of the papers' tables share: sets and their division, runs of
# klr-train and klr-predict, jobs whose results are kept, and docs/PAPERS.md.
#
#   KLR_DATA=FOLDER bench/papers/NAME.pl [--jobs N] [--only REGEX]
#
# A job is a name and a function that returns a hash. Its result is kept as
# $KLR_BUILD/papers/PROGRAMS/NAME.json, so that an interrupted run goes on where
# it was; PROGRAMS is a digest of the programs that computed it, so that other
# programs run all jobs again. What klr-train refuses to train is "not built"
# and is not kept. --only runs the jobs whose names match and takes the others
# from what is kept; what is not there is "not run".
# With QUICK=1 in the environment (make papers QUICK=1) small sets and coarse
# grids are taken, and the document is $KLR_BUILD/papers/quick/PAPERS.md.
#
# Randomness is that of the generator below, so that divisions are the same
# everywhere. Programs run with one thread; times are of jobs beside each other.
package Papers;
use strict;
use warnings;
use Digest::MD5 ();
use Exporter 'import';
use File::Path qw(make_path);
use FindBin ();
use Getopt::Long qw(GetOptions);
use JSON::PP ();
use lib "$FindBin::Bin/../../tests/cli/lib";
use KLR;
use POSIX ();

our @EXPORT = qw(begin quick results twelve_sets set_rows labels folds
    complement holdout sample uniform normal put_rows scratch train predict
    validate mean deviation mean_and_deviation median slope number table
    publish);

my %option = (jobs => 1, only => '');
my $json = JSON::PP->new->canonical->pretty;

sub quick
{
    return $ENV{QUICK};
}

# Read the command line; the folder is the root of the tree from here on.
sub begin
{
    my $root = "$FindBin::Bin/../..";
    chdir $root or die "$root: $!\n";
    GetOptions(\%option, qw(jobs=i only=s)) && !@ARGV && $option{jobs} > 0
        or die "the head of bench/papers/Papers.pm says how to call it\n";
    # Each model is flushed to where it is written: in memory that is quick.
    $ENV{TMPDIR} //= '/dev/shm' if -w '/dev/shm';
    die "KLR_DATA is not set: it names the folder of the data sets\n"
        unless defined $ENV{KLR_DATA};
    return;
}

# ---- Numbers at random, the same everywhere ----

# A generator of numbers in (0,1): Park and Miller's, by 48271 modulo 2^31 - 1.
sub uniform
{
    my ($seed) = @_;
    my $state = $seed % 2147483646 + 1;
    my $next = sub { ($state = $state * 48271 % 2147483647) / 2147483647 };
    $next->() for 1 .. 10; # seeds near each other begin alike
    return $next;
}

# One of the normal distribution, by Box and Muller.
sub normal
{
    my ($next) = @_;
    return sqrt(-2 * log $next->()) * cos(2 * 3.14159265358979 * $next->());
}

sub shuffled
{
    my ($next, @list) = @_;
    for my $last (reverse 1 .. $#list) {
        my $at = int($next->() * ($last + 1));
        @list[ $at, $last ] = @list[ $last, $at ];
    }
    return @list;
}

# ---- Sets and their division ----

# The sets of Consolo et al.: name there, name here, examples.
sub twelve_sets
{
    my @sets = (
        [ banknote => 'banknote', 1372 ],
        [ coil2000 => 'coil2000', 9822 ],
        [ diabetes => 'diabetes', 768 ],
        [ ionosphere => 'ionosphere', 351 ],
        [ magic => 'magic', 19020 ],
        [ monk2 => 'monk3', 432 ],
        [ ring => 'ringnorm_keel', 7400 ],
        [ sonar => 'sonar', 208 ],
        [ spambase => 'spambase_keel', 4597 ],
        [ twonorm => 'twonorm', 7400 ],
        [ waveform => 'waveform_bin', 5000 ],
        [ wisconsin => 'wdbc', 569 ],
    );
    return quick() ? grep { $_->[2] < 500 } @sets : @sets;
}

# The rows of $KLR_DATA/SET.svm, of SET+SET of both, after klr-scale with these
# options, as they are without.
sub set_rows
{
    my ($set, @scale) = @_;
    my $text = join '', map { get(data("$_.svm")
        // die "$ENV{KLR_DATA}/$_.svm: not there\n") } split /\+/, $set;
    return [ split /\n/, $text ] unless @scale;
    my $run = run([ qw(klr-scale --exact), @scale, '-' ], stdin => $text);
    die "klr-scale on $set: $run->{err}" if $run->{exit};
    return [ split /\n/, $run->{out} ];
}

sub labels
{
    my ($rows) = @_;
    return [ map { /^(\S+)/ ? $1 : die "no label: $_\n" } @$rows ];
}

# Positions divided into $count stratified parts, each ascending: the rows of
# each class, shuffled, are dealt out in turn, from where the last class ended.
sub folds
{
    my ($labels, $count, $seed, @positions) = @_;
    my ($next, %class, @fold) = uniform($seed);
    @positions = 0 .. $#$labels unless @positions;
    push @{ $class{ $labels->[$_] } }, $_ for @positions;
    my $turn = 0;
    for my $label (sort keys %class) {
        push @{ $fold[ $turn++ % $count ] }, $_
            for shuffled($next, @{ $class{$label} });
    }
    $#fold = $count - 1;
    return map { [ sort { $a <=> $b } @{ $_ // [] } ] } @fold;
}

# What of 0 .. n - 1 is not in the list.
sub complement
{
    my ($n, $positions) = @_;
    my %in = map { ($_ => 1) } @$positions;
    return [ grep { !$in{$_} } 0 .. $n - 1 ];
}

# Positions divided into (rest, one part of $count), stratified.
sub holdout
{
    my ($labels, $count, $seed, @positions) = @_;
    my ($held) = folds($labels, $count, $seed, @positions);
    my %in = map { ($_ => 1) } @$held;
    return ([ grep { !$in{$_} } @positions ], $held);
}

# Positions divided into (rest, $count chosen), each class in its proportion:
# the i-th of a shuffled class of m comes at (i + 1/2) / m, the first are taken.
sub sample
{
    my ($labels, $count, $seed) = @_;
    my ($next, %class, %at) = uniform($seed);
    push @{ $class{ $labels->[$_] } }, $_ for 0 .. $#$labels;
    for my $label (sort keys %class) {
        my @class = shuffled($next, @{ $class{$label} });
        $at{ $class[$_] } = ($_ + 0.5) / @class for 0 .. $#class;
    }
    my @order = sort { $at{$a} <=> $at{$b} || $a <=> $b } keys %at;
    my @chosen = sort { $a <=> $b } @order[ 0 .. $count - 1 ];
    return (complement(scalar @$labels, \@chosen), \@chosen);
}

sub put_rows
{
    my ($path, $rows, $positions) = @_;
    return put($path, join '', map {"$_\n"} $positions ? @$rows[@$positions]
        : @$rows);
}

# ---- Programs ----

# Run klr-train and return what --json said, a hash for each C; undef where the
# box of an sklr problem is empty. What is refused otherwise is not built.
sub train
{
    my (@argument) = @_;
    my $run = run([ qw(klr-train -q --json -j 1), @argument ]);
    return undef
        if $run->{exit} == 2 && $run->{err} =~ /option --box: .* exceeds/;
    die { absent => $run->{err} } if $run->{exit} == 2;
    die "klr-train @argument: $run->{err}" if $run->{exit};
    my $said = JSON::PP::decode_json($run->{out});
    return ref $said eq 'ARRAY' ? $said : [$said];
}

# What klr-predict said of the predictions that it wrote to MODEL.output.
sub predict
{
    my ($file, $model, @argument) = @_;
    my $run = run([ qw(klr-predict --json -j 1), @argument, $file, $model,
        "$model.output" ]);
    die "klr-predict @argument: $run->{err}" if $run->{exit};
    return JSON::PP::decode_json($run->{out});
}

# The measures of n-fold cross validation at each C, ascending, with what of the
# whole run was said beside them.
sub validate
{
    my (@argument) = @_;
    my $said = train(@argument)->[0];
    return map { { %$said, %$_ } } @{ $said->{values} // [$said] };
}

# ---- Jobs ----

sub folder
{
    return ($ENV{KLR_BUILD} // 'build') . '/papers' . (quick() ? '/quick' : '');
}

# Where results are kept that these programs have computed.
sub kept_in
{
    my $programs = Digest::MD5->new;
    $programs->add(get(bin("klr-$_"))) for qw(train predict scale);
    return folder() . '/' . $programs->hexdigest;
}

# Run one job in this process and leave its result in the file.
sub work
{
    my ($name, $function, $path) = @_;
    my $result = eval { $function->() };
    if (ref $@ eq 'HASH') {
        $result = $@;
    } elsif ($@) {
        print STDERR "$name: $@";
        return 1;
    }
    put("$path.$$", $json->encode($result));
    rename "$path.$$", $path or die "$path: $!\n";
    return 0;
}

sub kept
{
    my ($path) = @_;
    return -e $path ? $json->decode(get($path)) : undef;
}

# The results of jobs, [name, function]..., by name; each is a hash, whose
# absent says why there is none.
sub results
{
    my (@jobs) = @_;
    my ($running, $kept_in, %result, %refused) = (0, kept_in());
    for my $job (@jobs) {
        my ($name, $function) = @$job;
        my $path = "$kept_in/$name.json";
        next if -e $path || $name !~ /$option{only}/;
        if ($running >= $option{jobs}) {
            wait;
            $running--;
        }
        make_path($path =~ m{(.*)/});
        my $pid = fork() // die "fork: $!\n";
        exit work($name, $function, $path) unless $pid;
        $running++;
    }
    1 while wait != -1;
    for my $job (@jobs) {
        my $path = "$kept_in/$job->[0].json";
        my $result = $result{ $job->[0] } = kept($path)
            // { absent => 'not run' };
        next unless $result->{absent} && -e $path;
        print STDERR "$job->[0]: not built: $result->{absent}"
            unless $refused{ $result->{absent} }++;
        unlink $path;
        $result->{absent} = 'not built';
    }
    return \%result;
}

# ---- Figures ----

sub mean
{
    my $sum = 0;
    $sum += $_ for @_;
    return @_ ? $sum / @_ : undef;
}

# Of a sample: its squares over one less than there are.
sub deviation
{
    my $mean = mean(@_);
    return undef if @_ < 2;
    return sqrt(mean(map { ($_ - $mean)**2 } @_) * @_ / (@_ - 1));
}

# "0.926 (0.066)", in one format.
sub mean_and_deviation
{
    my ($format, @values) = @_;
    my $text = number($format, mean(@values));
    return @values < 2 ? $text
        : sprintf "%s ($format)", $text, deviation(@values);
}

# Of the line through points [x, y] by least squares.
sub slope
{
    my $x = mean(map { $_->[0] } @_);
    my $y = mean(map { $_->[1] } @_);
    my ($xy, $xx) = (0, 0);
    for my $point (@_) {
        $xy += ($point->[0] - $x) * ($point->[1] - $y);
        $xx += ($point->[0] - $x)**2;
    }
    return $xx > 0 ? $xy / $xx : undef;
}

# A figure for a cell: by the format, or what stands for one that is not there.
sub number
{
    my ($format, $value) = @_;
    return defined $value ? sprintf $format, $value : '-';
}

# A table of Markdown; columns after the first are to the right.
sub table
{
    my ($head, @rows) = @_;
    return join '', map { '| ' . join(' | ', map { $_ // '-' } @$_) . " |\n" }
        $head, [ '---', ('---:') x $#$head ], @rows;
}

# Put a section in the place of that with the same title, or at the end; it says
# where the protocol stands.
sub publish
{
    my ($title, $text) = @_;
    my $path = quick() ? folder() . '/PAPERS.md' : 'docs/PAPERS.md';
    make_path(folder());
    my $section = "## $title\n\nProtocol: the head of"
        . " bench/papers/$FindBin::Script.\n\n$text";
    $section =~ s/\n*\z/\n/;
    my $document = -e $path ? get($path) : "# The papers' tables\n";
    my @part = split /^(?=## )/m, $document;
    my ($at) = grep { $part[$_] =~ /^## \Q$title\E\n/ } 0 .. $#part;
    $part[ $at // @part ] = $section;
    s/\n*\z/\n/ for @part;
    put($path, join "\n", @part);
    print "$path: $title\n";
    return;
}

1;
