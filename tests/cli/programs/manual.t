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

# ---- Numbers and names ----

# What is said of each option, by its first name: in --help, ...
sub help_texts
{
    my %text;
    my $name;
    for (map { split /\n/, run([ @$_, '--help' ])->{out} } @_) {
        if (/^ {2,6}(-\S.*)/) {
            my $line = $1;
            $name = $line =~ /(--[a-z][-\w]*)/ ? $1 : $line =~ /^(-\w)/ ? $1 : '';
            $text{$name} = $line;
        } elsif (/^ {8,}\S/ && defined $name) {
            $text{$name} .= " $_";
        } else {
            undef $name;
        }
    }
    return \%text;
}

# ... and in the page, without its macros.
sub page_texts
{
    my ($program) = @_;
    my %text;
    my $name;
    for (split /\n/, get("docs/$program.1")) {
        if (/^\.It (Fl .*)/) {
            my $line = $1;
            $name = $line =~ /Fl (-[a-z][-\w]*)/ ? "-$1"
                : $line =~ /Fl (\w)/ ? "-$1" : '';
            $text{$name} = $line;
        } elsif (/^\.Sh/) {
            undef $name;
        } elsif (defined $name) {
            $text{$name} .= " $_";
        }
    }
    s/(?<!\S)\.?(Cm|Ar|Fl|Pf|Sq|Dq|Ev|It|Ta|Pa|Ql) /$1 /g for values %text;
    return \%text;
}

# Numbers, as numbers: 1e-3 is 0.001.
sub numbers
{
    my ($text) = @_;
    return map { 0 + $_ }
        $text =~ /(?<![\w.^:-])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w:^]|\.\d)/g;
}

# Those of "(default 5)", "(default: 1; kfd: 5)" and the like.
sub defaults
{
    my ($text) = @_;
    return sort { $a <=> $b } map { numbers($_) }
        $text =~ /\(default:? ([^()]*(?:\([^()]*\)[^()]*)*)/g;
}

sub same_numbers
{
    my ($program, $help, $page) = @_;
    for my $name (sort keys %$help) {
        my ($said, $written) = ($help->{$name}, $page->{$name} // '');
        my %there = map { $_ => 1 } numbers($written);
        my @lacks = grep { !$there{$_} } numbers($said);
        is("@lacks", '', "$program $name: the page has the numbers of --help");
        is(join(' ', defaults($written)), join(' ', defaults($said)),
            "$program $name: the same defaults");
    }
    return;
}

# The names that an option takes, as its refusal lists them.
sub choices
{
    my ($program, $name) = @_;
    my $run = run([ $program, $name, '?' ]);
    return $run->{err} =~ /'\?' is not one of ([^()\n]*)/ ? split /, /, $1 : ();
}

# The name before "(default)" in the page; in --help that of "(default NAME)".
sub chosen
{
    my ($said, $written) = @_;
    my ($help) = $said =~ /default ([a-z]\w*)[^()]*\)\s*$/;
    ($help) = $said =~ /\(default ([a-z]\w*)/ unless defined $help;
    my ($page) = $written =~ /.*Cm (\w+)\b(?:(?!Cm ).)*?\(default\)/;
    return ($help // '', $page // '');
}

sub same_names
{
    my ($program, $help, $page) = @_;
    my %choices = map { $_ => [ choices($program, $_) ] } keys %$help;
    my %known = map { $_ => 1 } map {@$_} values %choices;
    for my $name (sort grep { @{ $choices{$_} } } keys %choices) {
        my ($said, $written) = ($help->{$name}, $page->{$name});
        my @names = grep {/^[a-z]/} @{ $choices{$name} };
        is(join(' ', grep { $said !~ /\b\Q$_\E\b/ } @names), '',
            "$program $name: --help has its names");
        is(join(' ', grep { $written !~ /\b\Q$_\E\b/ } @names), '',
            "$program $name: the page has its names");
        is(join(' ', grep { !$known{$_} } $written =~ /Cm (\w+)/g), '',
            "$program $name: the page has no others");
        my ($here, $there) = chosen($said, $written);
        is($there, $here, "$program $name: the same default")
            if @names && $there ne '';
    }
    return;
}

# Numbers that the page may have alone are none of the program's: --help is the
# shorter one.
for my $program (qw(klr-scale klr-train klr-predict)) {
    my ($help, $page) = (help_texts([$program]), page_texts($program));
    cmp_ok(scalar keys %$help, '>', 8, "$program: texts of options");
    same_numbers($program, $help, $page);
    same_names($program, $help, $page);
}

# What a solver stops at where nothing is said, as models record it.
{
    my $dir = scratch();
    my $help = help_texts(['klr-train'])->{'--epsilon'};
    put("$dir/data", join '', map { ($_ % 2 ? 1 : -1) . " 1:0.$_ 2:0." . $_ % 7
                . "\n" } 1 .. 40);
    for my $case (['newton', '-s klr -a newton'], ['cg', '-s klr -a cg'],
        ['exact', '-s kfd'], ['smo', '-s svm'], ['smo', '-s sklr -a smo'],
        ['trirls', '-s klr -a trirls'], ['greedy', '-s ivm'],
        ['greedy', '-s kfd -a greedy'], ['threshold', '-s lhalf'])
    {
        my ($solver, $options) = @$case;
        run([ 'klr-train', '-q', split(' ', $options), 'data', 'model' ],
            cwd => $dir);
        my ($eps) = get("$dir/model") =~ /^eps (\S+)/m;
        my ($clause) = $help =~ /\b$solver\b[^:]*: .*?\(default ([^;)]*)/;
        is(0 + ($clause // 'nan'), 0 + ($eps // 'nan'), "$options: the default "
            . 'of -e');
    }
}

# C where nothing is said, as models record it, whatever trains them.
{
    my $dir = scratch();
    my ($list) = help_texts(['klr-train'])->{'--cost'} =~ /\(default: ([^)]*)\)/;
    my %cost = $list =~ /(\w+)\s+([\d.]+)/g;
    put("$dir/data", join '', map { ($_ % 3) . " 1:0.$_ 2:0." . $_ % 7
                . "\n" } 1 .. 40);
    for my $options ('-s klr', '-s klr -a smo', '-s klr -a smo1',
        '-s klr -a trirls', '-s klr -t sigmoid', '-s klr --basis 5',
        '-s klr --multiclass softmax', '-s klr --regularizer coef', '-s sklr',
        '-s sklr -a smo', '-s svm', '-s svm --regularizer coef', '-s kfd',
        '-s kfd -a greedy', '-s ivm', '-s lhalf')
    {
        my ($model) = $options =~ /-s (\w+)/;
        run([ 'klr-train', '-q', split(' ', $options), 'data', 'model' ],
            cwd => $dir);
        my ($c) = get("$dir/model") =~ /^cost (\S+)/m;
        is($c, $cost{$model}, "$options: the default of -c");
    }
    my @readme = get('README') =~ s/\s+/ /gr
        =~ /C is (\d+) for klr, sklr and ivm, (\d+) for kfd, (\d+) for lhalf/;
    is("@readme", "@cost{qw(klr kfd lhalf)}", 'README: the same defaults');
}

# README has the two of newton.
{
    my ($clause) = help_texts(['klr-train'])->{'--epsilon'}
        =~ /newton, cg: .*?\(default ([^)]*)\)/;
    my ($one, $grid) = get('README')
        =~ /default, (\S+), is finer than.*?compares its points at (\S+?)\.\s/s;
    is(join(' ', map { 0 + ($_ // 'nan') } $one, $grid),
        join(' ', numbers($clause)), 'README: the same defaults of -e');
}

# Which solver trains which model: "smo (klr, sklr, svm), ...".
{
    my $help = help_texts(['klr-train'])->{'--algorithm'};
    my ($list) = $help =~ /SOLVER\s+(.*?) or auto:/s;
    my %trains;
    my @waiting;
    while ($list =~ /\b([a-z]\w*)(?: \(([^)]*)\))?/g) {
        push @waiting, $1;
        next unless defined $2;
        my $models = $2 =~ s/\s+/ /gr;
        $trains{ shift @waiting } = [ $models =~ /\b(klr|sklr|svm|kfd|ivm|lhalf)\b/g ]
            while @waiting;
    }
    for my $solver (grep { $_ ne 'auto' } choices('klr-train', '--algorithm')) {
        my @can = grep {
            run([ qw(klr-train -a), $solver, '-s', $_, 'no such file' ])->{err}
                !~ /does not train/
        } choices('klr-train', '--model');
        is(join(' ', sort @{ $trains{$solver} // [] }), join(' ', sort @can),
            "--help says what $solver trains");
    }
}

my $mandoc = peer('mandoc');
my $groff = peer('groff');

sub well_formed
{
    my ($program) = @_;
    my $page = get("docs/$program.1");
    ok($page !~ /[^\x00-\x7f]|[ \t]$/m, "$program: plain text");
    ok($page !~ /^\..*\bAr(?: [].,:;)|]| Ns|$)/m,
        "$program: arguments have names, where mdoc would say 'file ...'");
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

my %kinds = ('klr-plot' => [qw(reliability roc pr cost surface)]);
my %tools = map { s{.*/}{}r => 1 } glob 'tools/klr-*';
for my $tool (sort keys %tools) {
    SKIP: {
        skip 'python3 is not installed', 1 unless peer('python3');
        my @commands = map { [ "tools/$tool", $_ ] } @{ $kinds{$tool} // [] };
        my @help = names_of_help(@commands ? @commands : [ "tools/$tool" ]);
        is_deeply([ names_of_page($tool) ], \@help,
            "$tool: page and help name the same options");
    }
    well_formed($tool);
}

# One version, wherever it is asked for.
{
    my ($version) = get('solver.h') =~ /^#define KLR_VERSION "(.*)"/m;
    my @tools = peer('python3') ? map {"tools/$_"} sort keys %tools : ();
    for my $command (qw(klr-scale klr-train klr-predict), @tools) {
        my $name = $command =~ s{.*/}{}r;
        my $run = run([ $command, '--version' ]);
        is("$run->{exit}$run->{out}$run->{err}", "0$name $version\n",
            "$name --version");
    }
    like(get('CITATION.cff'), qr/^version: "?\Q$version\E"?$/m, 'CITATION.cff');
}

done_testing();
