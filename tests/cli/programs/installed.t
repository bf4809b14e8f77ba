# SPDX-License-Identifier: BSD-3-Clause
#
# What make installs beside programs: completions that know every option, and
# nothing that stays behind; the list of targets; the tarball.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Digest::SHA ();
use Test::More;
use File::Find ();
use KLR;

my $build = $ENV{KLR_BUILD} // 'build';
my $bin = $ENV{KLR_BIN} // '.';
my $python = peer('python3');

sub make
{
    return run([ 'make', '-s', "BUILD=$build", "BIN=$bin", @_ ],
        env => { MAKEFLAGS => '', MAKELEVEL => 1 });
}

# ---- Completions ----

# The options that --help names, by themselves: -w of -wLABEL.
sub options_of
{
    my %names;
    for my $command (@_) {
        for (run([ @$command, '--help' ])->{out} =~ /^  (?:    )?(-\S.*)/mg) {
            my ($form) = /^(.*?)(?:  |$)/;
            $names{$_} = 1 for $form =~ /(?:^|, )(--?[a-z][-a-z0-9]*)/g;
        }
    }
    return sort keys %names;
}

# How each shell's file has an option.
my %has = (
    bash => sub { $_[0] =~ /[" ]\Q$_[1]\E[" ]/ },
    zsh => sub { $_[0] =~ /'\*\Q$_[1]\E\[/ },
    fish => sub {
        my ($text, $option) = @_;
        my ($name) = $option =~ /^-+(.*)/;
        my $kind = $option =~ /^--/ ? 'l' : length $name == 1 ? 's' : 'o';
        return $text =~ / -$kind \Q$name\E /;
    },
);

my %kinds = ('klr-plot' => [qw(reliability roc pr cost surface)]);
my @tools = $python ? map { s{.*/}{}r } glob 'tools/klr-*' : ();
my $prefix = scratch() . '/a prefix';
my $run = make("PREFIX=$prefix", 'install');
is("$run->{exit}$run->{err}", '0', 'make install');
for my $name (qw(klr-train klr-predict klr-scale), @tools) {
    my $program = -e "tools/$name" ? "tools/$name" : $name;
    my @options = options_of([$program],
        map { [ $program, $_ ] } @{ $kinds{$name} // [] });
    cmp_ok(scalar @options, '>', 2, "$name: options");
    my %file = (bash => "bash-completion/completions/$name",
        zsh => "zsh/site-functions/_$name",
        fish => "fish/vendor_completions.d/$name.fish");
    for my $shell (sort keys %file) {
        my $path = "$prefix/share/$file{$shell}";
        my $text = get($path);
        is(join(' ', grep { !$has{$shell}->($text, $_) } @options), '',
            "$name: $shell knows every option");
        SKIP: {
            skip "$shell is not installed", 1 unless peer($shell);
            my $run = run([ $shell, '-n', $path ]);
            is("$run->{exit}$run->{err}", '0', "$name: $shell reads it");
        }
    }
}

# What bash offers behind a beginning.
SKIP: {
    skip 'bash is not installed', 3 unless peer('bash');
    my $offers = sub {
        my ($program, @words) = @_;
        my $function = $program =~ s/-/_/gr;
        my $run = run([ 'bash', '-c', ". \"\$0\"; COMP_WORDS=($program @words); "
            . "COMP_CWORD=${\ scalar @words}; _$function; echo \${COMPREPLY[*]}",
            "$prefix/share/bash-completion/completions/$program" ]);
        return $run->{out};
    };
    is($offers->('klr-train', '--mu'), "--multiclass\n", 'an option');
    is($offers->('klr-train', '-t', 'l'), "linear laplacian\n", 'a value');
    is($offers->('klr-train', 'h'), "\n", 'files');
}

$run = make("PREFIX=$prefix", 'uninstall');
my @left;
File::Find::find(sub { push @left, $_ if !-d }, $prefix);
is("$run->{exit}@left", '0', 'make uninstall');

# ---- Targets ----

my ($targets) = get('Makefile') =~ /^\.PHONY: (.*(?:\\\n.*)*)/m;
my %inner = map { $_ => 1 } qw(check-run fuzz-run libfuzzer aflfuzz);
my $help = make('help')->{out};
is(join(' ', grep { !$inner{$_} && $help !~ /^  \Q$_\E /m }
        grep {/\w/} split /[\s\\]+/, $targets), '', 'make help has every target');

# ---- The tarball ----

SKIP: {
    skip 'no repository', 2
        if !peer('git') || run([qw(git rev-parse HEAD)])->{exit};
    my ($version) = get('solver.h') =~ /^#define KLR_VERSION "(.*)"/m;
    my @sum = map { make('dist');
        Digest::SHA->new(256)->addfile("$build/klr-$version.tar.gz")->hexdigest
    } 1, 2;
    is($sum[0], $sum[1], 'the same tarball twice');
    like(run([ 'tar', '-tzf', "$build/klr-$version.tar.gz" ])->{out},
        qr{^klr-\Q$version\E/Makefile$}m, 'of the sources');
}

done_testing();
