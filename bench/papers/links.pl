#!/usr/bin/env perl
# SPDX-License-Identifier: BSD-3-Clause
#
# How good the probabilities of each model and link are, on the sets of Consolo,
# Manno & Amaldi. No table of a paper: their systems beside each other. Called
# as the head of Papers.pm says.
#
# Features scaled to [0,1], RBF kernel with gamma 1, five-fold cross validation,
# the same folds for all, C in 1e-2 .. 1e3; sklr has lambda = C/10. C is chosen
# on these folds by log loss and by accuracy, of equals the smallest; the share
# of points is that of the model trained with it on all examples. Of sets of
# more than 2000 examples a stratified sample of 1000 is taken.
use strict;
use warnings;
use FindBin ();
use lib $FindBin::Bin;
use Papers;

begin();

my @sets = twelve_sets();
my $costs = join ',', map {"1e$_"} quick() ? (-1, 1) : (-2 .. 3);

# title => options
my @systems = (
    [ 'klr', qw(-s klr) ],
    (map { [ "sklr, $_", qw(-s sklr --link), $_ ] }
        qw(sigma consistent shrunk fitted)),
    [ 'svm, platt', qw(-s svm -b 1) ],
    (map { [ "kfd, $_", qw(-s kfd --link), $_ ] } qw(gaussian platt)),
);
my @measures = qw(log_loss brier ece accuracy);

sub prepared
{
    my ($set) = @_;
    my $rows = set_rows($set->[1], qw(-l 0 -u 1));
    my $chosen;
    (undef, $chosen) = sample(labels($rows), 1000, 1) if @$rows > 2000;
    return put_rows(scratch() . '/data', $rows, $chosen);
}

sub measured
{
    my ($set, @option) = @_;
    my $file = prepared($set);
    my @points = validate(@option, qw(-g 1 -v 5 --metrics -c), $costs, $file,
        "$file.model");
    return { points => [ map { my $point = $_;
        +{ map { ($_ => $point->{$_}) } 'c', @measures } } @points ] };
}

sub share
{
    my ($set, $c, @option) = @_;
    my $file = prepared($set);
    my $said = train(@option, qw(-g 1 -c), $c, $file, "$file.model")->[0];
    return { share => $said->{n_sv} / $said->{n} };
}

sub name
{
    my ($set, $title, $what) = @_;
    return "links/$set->[1]/" . $title =~ s/, /-/r . "/$what";
}

# The point of least log loss, or of most accuracy.
sub best
{
    my ($by, @points) = @_;
    my $sign = $by eq 'accuracy' ? -1 : 1;
    return (sort { $sign * ($a->{$by} <=> $b->{$by}) || $a->{c} <=> $b->{c} }
        @points)[0];
}

my @cases = map { my $set = $_; map { [ $set, @$_ ] } @systems } @sets;
my $measured = results(map { my ($set, $title, @option) = @$_;
    [ name($set, $title, 'measures'), sub { measured($set, @option) } ]
} @cases);

my @choices = qw(log_loss accuracy);
my %job;
for my $case (@cases) {
    my ($set, $title, @option) = @$case;
    my $points = $measured->{ name($set, $title, 'measures') }{points} or next;
    for my $c (map { best($_, @$points)->{c} } @choices) {
        $job{ name($set, $title, "points-$c") } = sub { share($set, $c,
            @option) };
    }
}
my $shares = results(map { [ $_, $job{$_} ] } sort keys %job);

# The measures of a set at the C chosen, and the share; or why there are none.
sub outcome
{
    my ($set, $title, $by) = @_;
    my $result = $measured->{ name($set, $title, 'measures') };
    my $points = $result->{points} or return $result->{absent};
    my $best = best($by, @$points);
    my $share = $shares->{ name($set, $title, "points-$best->{c}") };
    return $share->{absent} if $share->{absent};
    return { %$best, share => $share->{share} };
}

# Sets that every system has, so that means are of the same ones.
my @complete = grep { my $set = $_; !grep { my $title = $_->[0];
    grep { !ref outcome($set, $title, $_) } @choices } @systems } @sets;

my $count = @complete;
my $text = '';
for my $by (@choices) {
    my $what = $by eq 'log_loss' ? 'log loss' : $by;
    $text .= "### C chosen by $what: means over $count sets\n\n"
        . table([ 'model, link', 'log loss', 'Brier', 'ECE', 'accuracy',
        'points' ], map { my $title = $_->[0];
        my @of = map { outcome($_, $title, $by) } @complete;
        [ $title, map { my $measure = $_;
            number('%.3f', mean(map { $_->{$measure} } @of)) } @measures,
            'share' ] } @systems) . "\n";
}

# Sets on which the log loss of klr is at most that of svm, platt; of how many.
sub no_worse
{
    my @pair = grep { ref $_->[0] && ref $_->[1] } map { my $set = $_;
        [ map { outcome($set, $_, 'log_loss') } 'klr', 'svm, platt' ] } @sets;
    return (scalar(grep { $_->[0]{log_loss} <= $_->[1]{log_loss} } @pair),
        scalar @pair);
}

for my $measure (qw(log_loss ece)) {
    my $what = $measure eq 'ece' ? 'ECE' : 'Log loss';
    $text .= "### $what of each set, C chosen by log loss\n\n"
        . table([ 'set', map { $_->[0] } @systems ], map { my $set = $_;
        [ $set->[0], map { my $of = outcome($set, $_->[0], 'log_loss');
            ref $of ? number('%.3f', $of->{$measure}) : $of } @systems ] }
        @sets) . "\n";
}
$text .= sprintf "The log loss of klr is at most that of svm, platt on %d of %d"
    . " sets.\n", no_worse();

publish('Probabilities', $text);
