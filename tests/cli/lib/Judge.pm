# SPDX-License-Identifier: BSD-3-Clause
#
# Judging trained models from outside: data sets with known properties, the
# independent evaluator, and LIBSVM on the same problem.
package Judge;
use strict;
use warnings;
use Exporter 'import';
use JSON::PP ();
use KLR;
use Test::More;

our @EXPORT = qw(uniform clusters mixed mixed_verdict scaled evaluate trained
    svm_cell klr_cell sklr_cell logistic_cell kernel_options);

# Numbers in (0, 1) by Park and Miller's generator, the same wherever Perl runs;
# Perl's own stays as it is, for File::Temp to choose names by.
sub uniform
{
    my ($state) = @_; # the seed, 1 .. 2^31 - 2
    return sub {
        $state = $state * 16807 % 2147483647;
        return $state / 2147483647;
    };
}

# Two classes that overlap wholly, 3000 examples of eight features in [0, 1]: at
# a large C no solver is done with them soon. As text.
sub mixed
{
    my $random = uniform(1);
    return join '', map {
        my $y = $random->() < 0.5 ? 1 : -1;
        join(' ', $y, map { sprintf '%d:%.6f', $_, $random->() } 1 .. 8) . "\n"
    } 1 .. 3000;
}

# What is said of a model of these that a limit ended, at this C: as many labels
# of one kind as of the other make the best constant log 2 for each.
sub mixed_verdict
{
    my ($objective, $c) = @_;
    return $objective > 3000 * $c * log 2
        ? 'do not rely on its answers'
        : 'the model is usable but not optimal';
}

# Overlapping clusters around seeded centres: rows of `label`s, with features in
# [-1, 1] of four decimals, a share of which are zero and left out. As text.
sub clusters
{
    my (%arg) = @_; # seed, labels (repeated for larger classes), n, d, zeros
    my $random = uniform(1000 * $arg{seed});
    my ($text, %centre) = ('');
    my $zeros = $arg{zeros} // 0;
    for my $i (0 .. $arg{n} - 1) {
        my $label = $arg{labels}[$i % @{ $arg{labels} }];
        my $centre = $centre{$label} //=
            [ map { 0.8 * $random->() - 0.4 } 1 .. $arg{d} ];
        $text .= $label;
        for my $j (1 .. $arg{d}) {
            my $noise = $random->() + $random->() - 1;
            my $value = $centre->[$j - 1] + 0.6 * $noise;
            my $keep = $random->() >= $zeros;
            $text .= sprintf ' %d:%.4f', $j, $value if $keep;
        }
        $text .= "\n";
    }
    return $text;
}

# A set of $KLR_DATA, scaled to [-1, 1] by klr-scale; a1a as it is. undef
# where the set is not there.
sub scaled
{
    my ($dir, $name) = @_;
    my $path = data("$name.svm") // return undef;
    return $path if $name =~ /^a\d+a$/;
    my $run = run([ 'klr-scale', '-l', -1, '-u', 1, $path ],
        stdout_file => "$dir/$name");
    die "klr-scale: $run->{err}" if $run->{exit};
    return "$dir/$name";
}

# What the evaluator finds, one hash per pair of classes. What follows C: of
# sklr lambda and box, then perhaps --no-bias, then LABEL=WEIGHT.
sub evaluate
{
    my ($kind, $data, $model, $cost, @rest) = @_;
    my $run = run([ tool('evaluate'), $kind, $data, $model, $cost, @rest ]);
    die "evaluate: $run->{err}" if $run->{exit};
    return map { JSON::PP::decode_json($_) } split /\n/, $run->{out};
}

# Train; returns the decoded line of --json, undef (and a failed test) if not.
sub trained
{
    my ($data, $model, @options) = @_;
    my $run = run([ 'klr-train', qw(-q --json --keep-sv), @options, $data,
        $model ]);
    return JSON::PP::decode_json($run->{out}) if $run->{exit} == 0;
    fail("klr-train @options $data: exit $run->{exit}: $run->{err}");
    return undef;
}

# svm-train's model, judged; `printed` is the objective it prints, which is that
# of its kernel rows in float and can be off by some 1e-5 for large C.
sub peer_judged
{
    my ($data, $model, $cost, @options) = @_;
    my $run = run([ peer('svm-train'), @options, $data, $model ]);
    die "svm-train: $run->{err}" if $run->{exit};
    my ($printed) = $run->{out} =~ /^obj = (\S+),/m;
    my ($judged) = evaluate('svm', $data, $model, $cost);
    return { %$judged, printed => $printed };
}

sub kernel_options
{
    my ($kernel, $cost) = @_;
    my @polynomial = $kernel == 1 ? (-r => 0, -d => 3) : ();
    return (-t => $kernel, -g => 0.125, @polynomial, -c => $cost);
}

# -s svm reaches svm-train's dual objective within 1e-6 for -e 1e-6, and is not
# worse by more than 1e-4 at -e 0.001; both as the evaluator finds them. What
# klr-train reports is right to a tenth of that. svm-train may end before, after
# 10,000,000 steps; klr-train gets on.
sub svm_cell
{
    my ($dir, $name, $data, $kernel, $cost) = @_;
    my @options = kernel_options($kernel, $cost);
    for my $case ([ '1e-6', 1e-6 ], [ '0.001', 1e-4 ]) {
        my ($eps, $bound) = @$case;
        my $peer = peer_judged($data, "$dir/peer", $cost, @options,
            -e => $eps);
        my $ours = trained($data, "$dir/model", -s => 'svm', @options,
            -e => $eps, '--max-iter' => 100_000_000) // next;
        my ($judged) = evaluate('svm', $data, "$dir/model", $cost);
        my $scale = abs $peer->{dual};
        my $worse = ($peer->{dual} - $judged->{dual}) / $scale;
        my $off = abs($judged->{dual} - $ours->{dual}) / $scale;
        ok($worse <= $bound && $off <= 0.1 * $bound
                && $ours->{status} eq 'converged' && feasible($judged, $cost),
            sprintf '%s t=%d C=%s svm -e %s: worse than svm-train by %.1e',
            $name, $kernel, $cost, $eps, $worse)
            or diag(sprintf "%s t=%d C=%s -e %s: duals: svm-train %.10g (it"
                . " prints %s), klr-train %.10g (it reports %.10g, off by"
                . " %.1e); excess %g, sum beta %g, gap %g, violation %g",
            $name, $kernel, $cost, $eps, $peer->{dual}, -$peer->{printed},
            $judged->{dual}, $ours->{dual}, $off, $judged->{excess},
            $judged->{sum_beta}, $judged->{gap}, $judged->{violation});
    }
    return;
}

# Rounding of C - box aside.
sub feasible
{
    my ($judged, $cost) = @_;
    return $judged->{excess} <= 1e-15
        && abs $judged->{sum_beta} <= 1e-9 * $cost * $judged->{n};
}

# klr closes the relative duality gap to 1e-6, and says so: by newton as it is,
# by smo with -e 1e-5.
my %closing = (newton => [], smo => [ -e => '1e-5' ]);

sub klr_cell
{
    my ($dir, $name, $data, $kernel, $cost) = @_;
    logistic_cell($dir, $name, $data, solver => $_, cost => $cost,
        options => [ -s => 'klr', kernel_options($kernel, $cost) ],
        judge => ['klr'])
        for qw(newton smo);
    return;
}

# sklr does so by the solver named; no support vector is at the lower end of
# the box where others have been left out there. Arguments: cost, lambda; box;
# no_bias; weights, a hash by label.
sub sklr_cell
{
    my ($dir, $name, $data, $solver, %arg) = @_;
    my $weight = $arg{weights} // {};
    my @free = $arg{no_bias} ? '--no-bias' : ();
    my @judged = logistic_cell($dir, $name, $data, solver => $solver,
        cost => $arg{cost}, free => scalar @free, coarse => $arg{coarse},
        options => [ qw(-s sklr -g 0.125 -c), $arg{cost}, -l => $arg{lambda},
            '--box' => $arg{box} // 1e-5, @free,
            map { ("-w$_" => $weight->{$_}) } sort keys %$weight ],
        judge => [ 'sklr', $arg{lambda}, $arg{box} // 1e-5, @free,
            map {"$_=$weight->{$_}"} sort keys %$weight ]);
    for my $judged (@judged) {
        next if $judged->{n_sv} == $judged->{n};
        cmp_ok($judged->{least_sv}, '>', $arg{box} // 1e-5,
            "$name sklr by $solver: support vectors are inside the box");
    }
    return @judged;
}

# One model, judged against what was reported; returns what the judge found.
# Arguments: solver, cost; options of klr-train; free: sum beta may be anything,
# and rho is 0; coarse: what a sparse model leaves out costs more than eps, so
# that the dual point alone is judged; judge: the kind of model, then what
# follows C.
sub logistic_cell
{
    my ($dir, $name, $data, %arg) = @_;
    my $ours = trained($data, "$dir/model", -a => $arg{solver},
        @{ $arg{options} }, @{ $closing{ $arg{solver} } }) // return;
    my ($kind, @rest) = @{ $arg{judge} };
    my ($judged) = evaluate($kind, $data, "$dir/model", $arg{cost}, @rest);
    my $label = "$name by $arg{solver}: @{ $arg{options} }";
    my $off = abs($judged->{dual} - $ours->{dual}) / abs $judged->{dual};
    my $primal = abs($judged->{primal} - $ours->{objective})
        / abs $judged->{primal};
    # The Newton method may answer with a point that is not one of the dual.
    my $within = $arg{solver} eq 'newton' || $judged->{excess} <= 1e-15;
    my $in_place = $within && ($arg{free} ? $judged->{rho} == 0
        : abs $judged->{sum_beta} <= 1e-9 * $arg{cost} * $judged->{n});
    my $closed = $arg{coarse} ? $judged->{violation} <= 0.05
        : $judged->{model_gap} <= 1e-6 && $ours->{gap} <= 1e-6
        && $ours->{status} eq 'converged';
    ok($closed && $off <= 1e-6 && $primal <= 1e-6 && $in_place,
        sprintf '%s: gap %.2e', $label, $judged->{model_gap})
        or diag(sprintf "gap %.3g (reported %s), primal %.9g (reported %s),"
            . " dual %.9g (reported %s), excess %g, sum %g, rho %g, violation"
            . " %s, status %s",
        $judged->{model_gap}, $ours->{gap} // 'none', $judged->{primal},
        $ours->{objective} // 'none', $judged->{dual}, $ours->{dual} // 'none',
        $judged->{excess}, $judged->{sum_beta}, $judged->{rho},
        $judged->{violation} // 'infinite', $ours->{status});
    return $judged;
}

1;
