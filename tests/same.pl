#!/usr/bin/env perl
# SPDX-License-Identifier: BSD-3-Clause
#
# What the programs write for a fixed matrix of command lines, as a list of
# `checksum  command line`: a refactoring leaves it as it is.
#
#   tests/same.pl [--jobs N] >LIST
#   tests/same.pl [--jobs N] --against LIST
#
# A checksum is of the exit status, standard output, standard error and all
# files that a command line leaves, without the times in them. Each command line
# runs in a folder of its own, $KLR_BUILD/same-runs/NUMBER. The folder stays, so
# that one can see what differs.
# --against prints the command lines whose checksums are not those of LIST, and
# exits with 1 if there are any. Both lists must come from processors that add
# products without rounding them, or both from such that do not.
#
# KLR_BIN names the folder of the programs, which may be of another commit.
use strict;
use warnings;
use Cwd qw(abs_path);
use Digest::MD5 qw(md5_hex);
use File::Glob qw(:bsd_glob);
use File::Path qw(make_path remove_tree);
use FindBin ();
use lib "$FindBin::Bin/cli/lib";
use Getopt::Long qw(GetOptions);
use Judge;
use KLR;

my %option = (jobs => 2);
GetOptions(\%option, qw(jobs=i against=s)) && $option{jobs} > 0 && !@ARGV
    or die "the head of $0 says how to call it\n";
my $heart = "$FindBin::Bin/../heart_scale";
my $dir = ($ENV{KLR_BUILD} // 'build') . '/same-runs';
-x bin($_) or die bin($_), ": no such program\n"
    for qw(klr-scale klr-train klr-predict);
$ENV{PATH} = abs_path($ENV{KLR_BIN} // '.') . ":$ENV{PATH}";
$ENV{KLR_THREADS} = 1;
delete @ENV{qw(KLR_CPU TMPDIR)};

# ---- Data ----

# NAME, the first n rows of the text, and NAME.test, the others.
sub split_set
{
    my ($name, $n, $text) = @_;
    my @rows = split /^/, $text;
    put("$dir/$name", join '', @rows[ 0 .. $n - 1 ]);
    put("$dir/$name.test", join '', @rows[ $n .. $#rows ]);
    return $text;
}

# Sparse rows of features that are 1, half of them more often in one class.
sub bits
{
    my ($n, $d) = @_;
    my $random = uniform(7);
    return join '', map {
        my $y = $_ % 3 ? -1 : 1;
        join(' ', $y, map {"$_:1"}
            grep { $random->() < ($_ % 2 ? 0.1 : 0.1 + 0.06 * $y) } 1 .. $d)
            . "\n"
    } 1 .. $n;
}

# The text with its features in other units, and far from 0.
sub in_units
{
    my ($text) = @_;
    return $text =~ s/(\d+):(\S+)/"$1:" . (10 ** ($1 - 2) * $2 + 1e4 * $1)/ger;
}

# Rows of the linear kernel with the first n, a precomputed kernel's.
sub gram
{
    my ($n, $text) = @_;
    my (@labels, @points);
    for my $row (split /\n/, $text) {
        my ($label, @features) = split ' ', $row;
        push @labels, $label;
        push @points, { map { split /:/ } @features };
    }
    return join '', map {
        my $i = $_;
        join(' ', $labels[$i], '0:' . ($i + 1), map { "$_:"
                    . sprintf '%.8f', product($points[$i], $points[ $_ - 1 ]) }
                1 .. $n) . "\n"
    } 0 .. $#points;
}

sub product
{
    my ($x, $y) = @_;
    my $sum = 0;
    $sum += $x->{$_} * ($y->{$_} // 0) for sort keys %$x;
    return $sum;
}

sub make_data
{
    my @names = qw(- ash elm oak);
    my $two = split_set('two', 150,
        clusters(seed => 1, labels => [ 1, -1, -1 ], n => 200, d => 5,
            zeros => 0.2));
    my $three = split_set('three', 150,
        clusters(seed => 2, labels => [ 1, 2, 3, 3 ], n => 200, d => 4));
    split_set('wide', 40,
        clusters(seed => 4, labels => [ 1, -1 ], n => 60, d => 60));
    split_set('many', 700,
        clusters(seed => 5, labels => [ 1, -1 ], n => 800, d => 6));
    split_set('large', 2600,
        clusters(seed => 8, labels => [ 1, -1 ], n => 2700, d => 3));
    split_set('six', 300,
        clusters(seed => 6, labels => [ 1 .. 6 ], n => 360, d => 4));
    split_set('bits', 150, bits(200, 100));
    split_set('heart', 200, KLR::get($heart));
    split_set('units', 150, in_units($two));
    split_set('gram', 150, gram(150, $two));
    split_set('names', 150, $three =~ s/^(\d)/$names[$1]/gmr);
    put("$dir/unknown", $three =~ s/^\d /7 /r);
    put("$dir/unlabelled", $three =~ s/^\d //gmr);
    put("$dir/damaged", $two =~ s/:/;/r);
    put("$dir/weights", join '', map { 1 + $_ % 4 / 2, "\n" } 1 .. 150);
    put("$dir/folds", join '', map { $_ * $_ % 7, "\n" } 1 .. 150);
    return;
}

# ---- Command lines ----

# Lines of text, {these,those} as in a shell.
sub lines
{
    return map { bsd_glob($_, GLOB_BRACE | GLOB_NOMAGIC | GLOB_NOSORT) }
        grep {/^[^#]/} split /\n/, $_[0];
}

# Options of klr-train and the name of a set: trained, and its test set
# answered.
sub trainings
{
    return map {
        s{ (\w+)$}{ ../$1 model && klr-predict ../$1.test model output}r
            =~ s/^/klr-train --json /r
    } lines($_[0]);
}

my $systems = '{-s klr -a newton,-s klr -a smo,-s klr -a smo1,-s klr -a trirls,'
    . '-s klr --regularizer coef,-s klr --regularizer coef -a cg,'
    . '-s sklr -c 10 -a newton,-s sklr -c 10 -a smo,-s sklr -c 10 -a smo1,'
    . '-s svm -a smo,-s ivm -a greedy,-s lhalf -a threshold,'
    . '-s kfd -a exact,-s kfd -a exact --regularizer coef,'
    . '-s kfd -a greedy,-s kfd -a greedy --regularizer kernel}';
my $kernels = '{-t linear,-t polynomial -d 2 -g 0.3 -r 1,-t rbf -g 0.3,'
    . '-t sigmoid -g 0.1 -r -0.2,-t laplacian -g 0.2}';
my $classifiers = '{klr,sklr -c 10,svm -b 1,kfd,ivm,lhalf}';

my @rows = (
    trainings(<<"END"),
$systems $kernels two
$systems -t precomputed gram
$systems --multiclass {ovo,ova,ddag} three
-s klr --multiclass softmax{, -t linear, --no-bias, -c 100} three
-s klr --multiclass softmax --link none six
-s $classifiers heart
-s $classifiers {wide,bits,units}
-s klr {-t linear,-g 2,-t laplacian -g 2} {-a newton,-a smo} units
-s $classifiers --string-labels names
-s $classifiers --scale {minmax,standard} units
# links
-s {klr,ivm,lhalf} --link {none,fitted,platt,checked,gaussian} two
-s sklr -c 10 --link {none,sigma,shrunk,consistent,platt,checked,gaussian} two
-s svm --link {none,sigma,fitted,platt,checked,gaussian} two
-s kfd --link {none,sigma,fitted,platt,checked} two
-s {klr,svm} --link platt --calibrate {holdout,training} {two,three}
-s kfd --prior 0.2 two
# weights of classes and of examples
-s $classifiers {-w1 3 -w-1 0.5,--balance,--weights ../weights} two
-s {klr,svm -b 1,kfd} --balance --prior-correct --positive -1 two
-s klr --multiclass {ova,softmax} {--balance,-w2 4,--weights ../weights} three
# without a bias, and what one model alone has
-s {klr,sklr,ivm,lhalf,{klr,sklr -c 10} -a smo1} --no-bias two
-s sklr -c 10 {-l 0,-l 3 --box 0.1,--keep-bounded,--lambda-bound} two
-s sklr -c 10 {-a newton,-a smo,-a smo1} --gap 1e-3 two
-s svm {-c 1000,-h 0,--gap 1e-4,-e 1e-6} two
-s kfd {--threshold svm,-a greedy --selection infeasibility} two
-s {ivm,kfd -a greedy} {--candidates 0,--max-basis 5,--window 3 --seed 7} two
-s klr {-a trirls -e 1e-4,--max-iter 2,-a smo --max-iter 9,--sv-indices} two
# more than a tile
-s $classifiers -g {0.2,5} many
-s {klr,svm,kfd} -c 1000 many
-s {klr,svm,kfd,klr -a smo,klr --regularizer coef} -m {0.1,1} -j {1,2} many
-s {klr,svm -b 1,kfd} -j 2 six
-s {klr,klr -t linear,sklr -c 10,svm} large
-s {klr,kfd,sklr} -c 1000 -g 2 large
-s {$classifiers,klr -a smo1{, --no-bias},klr --multiclass softmax} -c 1e6 three
END
    lines(<<"END"),
# several C
klr-train --json -s $classifiers -c 0.1:10:x10 ../two model
klr-train -s klr --regularizer coef {-a newton,-a cg} -c 1:100:x10 ../two model
klr-train -s {sklr,klr -a {smo,trirls},kfd -a greedy} -c 0.1:100:x10 ../heart m
klr-train -s {klr,sklr} -c 1,10 ../three m && klr-predict ../three.test m.10 out
# validation
klr-train --json -v 3 $systems ../two
klr-train --metrics -v 4 -s $classifiers ../three
klr-train -v 3 -j 2 -s {svm,klr --multiclass {ova,softmax}} ../six
klr-train --json -s {klr,svm} --folds-file ../folds --cv-out answers ../two
klr-train --loo --json {--cv-out answers,--multiclass ova} ../three
klr-train --loo {--no-bias,--balance,-a smo,-a smo1,--weights ../weights} ../two
klr-train --loo -c 0.1:100:x10 -g 0.1:1:x3 ../two model
klr-train -v 3 -s $classifiers -c 0.1:10:x10 -g 0.1:0.9:x3 ../two model
klr-train -v 3 --json -s {klr,kfd} -c 0.1,1 -g 0.05,0.5 -j {1,2} ../three model
klr-train -v 3 -s sklr -c 1,10 -l 0.1,1 -g 0.1,1 --link sigma ../two model
klr-train -v 3 -c 0.1,9 --metric {accuracy,balanced,brier,auc,f1,mcc,ece} ../two
klr-train -v 3 -c 0.1,9 -a {newton,smo,trirls} --weights ../weights ../two
klr-train -v 3 -s {kfd -a greedy,svm} --seed 5 ../heart
klr-train -v 3 --scale standard -s svm -c 1,10 ../units model
# the kernel matrix
klr-train --check-kernel --json {-t 0,-t 2,-t 3 -r 1} ../{two,three}
klr-train --check-kernel --json {-t 4 ../gram,-j 2 ../large}
# instruction sets
KLR_CPU={portable,avx2} klr-train $kernels ../{heart,bits} model
KLR_CPU={portable,avx2} klr-train -s {svm,kfd,klr -a smo} ../heart model
# predictions
klr-train ../three m; klr-predict {-b 0,-b 1,--decision,-q} ../three.test m out
klr-train ../three m; klr-predict {--json,--metrics} ../{three,unknown} m out
klr-train ../three m; klr-predict --unlabelled ../unlabelled m -
klr-train -s {svm,kfd} ../two - | klr-predict {-b 0,-b 1} ../two.test - -
klr-train --multiclass {ova,ddag,soft} ../six m; klr-predict --decision ../six m
klr-train ../many m; klr-predict -j 2 --metrics ../many m out
# scaling
klr-scale {-s range,-l 0 -u 2 -y 0 1 -s range,--standardize,--exact} ../units
klr-scale -s range --exact ../units; klr-scale -r range ../units.test
klr-scale --string-labels ../names; klr-scale --unlabelled ../unlabelled
# refusals
klr-{train,scale} ../damaged
klr-train -s {svm -a newton,kfd --no-bias,lhalf --regularizer kernel} ../two
klr-train -c {0,x,1:0:x2} ../two
klr-train --loo --regularizer coef ../two
klr-train ../two m; klr-predict ../damaged m out; klr-predict ../two ../two out
klr-{train,predict,scale} --help
END
);

# ---- Runs ----

# Results as JSON have seconds in them, lines of progress have "1.2 s".
sub without_times
{
    my ($text) = @_;
    return $text =~ s/"seconds": (?:\{[^}]*\}|[\d.]+)//gr
        =~ s/^.*\d\.\d s, .*\n//gmr;
}

# Name, length and text: the length tells where one file ends.
sub file_text
{
    my ($path) = @_;
    my $text = without_times(KLR::get($path));
    return ($path =~ s{.*/}{}r, length $text, $text);
}

sub checksum
{
    my ($number) = @_;
    my $folder = "$dir/$number";
    make_path($folder);
    put("$folder/command", "$rows[$number]\n");
    my $status = system "cd '$folder' && sh ./command >stdout 2>stderr";
    return md5_hex(join "\0", $status,
        map { file_text($_) } sort(bsd_glob("$folder/*")));
}

# Checksums of all rows, by --jobs processes.
sub checksums
{
    my ($jobs, @sums) = ($option{jobs});
    my @workers = map {
        my $first = $_;
        my $pid = open(my $results, '-|') // die "fork: $!\n";
        if ($pid == 0) {
            print "$_ ", checksum($_), "\n"
                for grep { $_ % $jobs == $first } 0 .. $#rows;
            exit 0;
        }
        $results;
    } 0 .. $jobs - 1;
    for my $results (@workers) {
        while (my $line = <$results>) {
            my ($number, $sum) = split ' ', $line;
            $sums[$number] = $sum;
        }
        close $results or die "a worker ended with $?\n";
    }
    return @sums;
}

# How many rows differ from the list, or stand in one of both alone.
sub differing
{
    my ($list, @sums) = @_;
    my %before = map { chomp; reverse split /  /, $_, 2 } split /^/, $list;
    my $count = 0;
    for my $number (0 .. $#rows) {
        my $sum = delete $before{ $rows[$number] } // 'none';
        next if $sum eq $sums[$number];
        $count++;
        print "$dir/$number: $rows[$number]\n";
    }
    print "not in the matrix: $_\n" for sort keys %before;
    return $count + keys %before;
}

my $list = defined $option{against} ? KLR::get($option{against}) : undef;
remove_tree($dir);
make_path($dir);
make_data();
my @sums = checksums();
if (defined $list) {
    my $count = differing($list, @sums);
    printf "%d command lines, %d differ\n", scalar @rows, $count;
    exit($count > 0);
}
print "$sums[$_]  $rows[$_]\n" for 0 .. $#rows;
