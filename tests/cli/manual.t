# SPDX-License-Identifier: BSD-3-Clause
#
# Manual pages and --help name the same options, and the pages are well formed.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use KLR;

# "-c, --cost C" and the like, as --help prints them.
sub options_of_help
{
    my ($program) = @_;
    my $run = run([ $program, '--help' ]);
    is($run->{exit}, 0, "$program --help");
    return map {s/\s+$//r} $run->{out} =~ /^  ((?:-|    --)\S.*?)(?:  .*)?$/mg;
}

# The same from the page: ".It Fl c , -cost Ar C", long options as "Fl -name".
sub options_of_page
{
    my ($program) = @_;
    my @options;
    for (get("docs/$program.1") =~ /^\.It (Fl .*)$/mg) {
        my $option = $_;
        $option =~ s/ Ns Ar / /;
        $option =~ s/^Fl (\S) , Fl -/-$1, --/ or $option =~ s/^Fl -/    --/
            or $option =~ s/^Fl (\S+) /-$1/;
        $option =~ s/\bAr //g;
        $option =~ s/ (\S+) Ns \| Ns (\S+)/ $1|$2/g;
        push @options, $option;
    }
    return @options;
}

# The names of a tool's options alone: argparse folds lines as it likes.
sub names_of_help
{
    my %names;
    for my $command (@_) {
        my $run = run([ @$command, '--help' ]);
        is($run->{exit}, 0, "@$command --help");
        for ($run->{out} =~ /^  (-.*)/mg) {
            $names{$_} = 1 for /(?<!\S)(--?[a-z][-\w]*)/g;
        }
    }
    return sort keys %names;
}

sub names_of_page
{
    my ($program) = @_;
    return sort map { "-$_" } map { /Fl (\S+)/g }
        get("docs/$program.1") =~ /^\.It (Fl .*)$/mg;
}

my $mandoc = peer('mandoc');
my $groff = peer('groff');

sub well_formed
{
    my ($program) = @_;
    my $page = get("docs/$program.1");
    ok($page !~ /[^\x00-\x7f]|[ \t]$/m, "$program: plain text");
    SKIP: {
        skip 'mandoc is not installed', 1 unless $mandoc;
        my $lint = run([ $mandoc, '-T', 'lint', '-W', 'warning',
                "docs/$program.1" ]);
        is($lint->{out} . $lint->{err}, '', "$program: mandoc -T lint");
    }
    SKIP: {
        skip 'groff is not installed', 1 unless $groff;
        my $lint = run([ $groff, '-ww', '-mdoc', '-Tascii', '-z',
                "docs/$program.1" ]);
        skip 'groff has no mdoc here', 1
            if $lint->{err} =~ /can't open|macro file/;
        is($lint->{err}, '', "$program: groff -ww");
    }
    return;
}

for my $program (qw(klr-scale klr-train klr-predict)) {
    my @help = options_of_help($program);
    cmp_ok(scalar @help, '>', 3, "$program: --help names options");
    is_deeply([ sort(options_of_page($program)) ], [ sort @help ],
        "$program: page and help name the same options");
    well_formed($program);
}

my %kinds = ('klr-plot' => [qw(reliability roc pr surface)]);
for my $tool (qw(klr-check klr-subset klr-grid klr-plot)) {
    SKIP: {
        skip 'python3 is not installed', 1 unless peer('python3');
        my @commands = map { [ "tools/$tool", $_ ] } @{ $kinds{$tool} // [] };
        my @help = names_of_help(@commands ? @commands : [ "tools/$tool" ]);
        is_deeply([ names_of_page($tool) ], \@help,
            "$tool: page and help name the same options");
    }
    well_formed($tool);
}

done_testing();
