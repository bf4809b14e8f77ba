# SPDX-License-Identifier: BSD-3-Clause
#
# klr.py against the programs: the same probabilities, decision values and
# validations, with numpy and without; estimators by scikit-learn's conventions,
# where it is installed.
use strict;
use warnings;
use lib 'tests/cli/lib';
use Test::More;
use Cwd ();
use KLR;

my $here = Cwd::getcwd();
my $library = Cwd::abs_path($ENV{KLR_BUILD} // 'build') . '/lib/libklr.so.1';
plan skip_all => 'python3 is not installed' unless peer('python3');
plan skip_all => "$library is not there" unless -e $library;

# The first one that has scikit-learn, numpy and scipy, else any.
sub imports
{
    my ($python, $module) = @_;
    return !run([ $python, '-c', "import $module" ])->{exit};
}
my @pythons = grep { -x $_ } (run([ 'python3', '-c',
        'import sys; print(sys.executable, end="")' ])->{out}, '/usr/bin/python3');
my ($python) = grep { imports($_, 'sklearn') } @pythons;
$python //= $pythons[0];

my $dir = scratch();
my $begin = <<"END";
import json, sys
sys.dont_write_bytecode = True
sys.path.insert(0, '$here/tools/python')
if sys.argv[1] == 'bare':
    sys.modules['numpy'] = None
import klr

X, y = [], []
for line in open('$here/heart_scale'):
    words = line.split()
    row = [0.0] * 13
    for word in words[1:]:
        index, value = word.split(':')
        row[int(index) - 1] = float(value)
    X.append(row)
    y.append(int(words[0]))

def lists(values):
    return values.tolist() if hasattr(values, 'tolist') else values

END

# What the lines of Python print, as JSON.
sub told
{
    my ($with, $code) = @_;
    my $run = run([ $python, put("$dir/test.py", "$begin$code"), $with ],
        env => { KLR_LIBRARY => $library });
    is("$run->{exit}$run->{err}", '0', "$with: runs");
    return printed_json($run);
}

# The largest difference between two lists of numbers, or of rows of them.
sub apart
{
    my ($left, $right) = @_;
    my @left = map { ref ? @$_ : $_ } @$left;
    my @right = map { ref ? @$_ : $_ } @$right;
    return 9e99 unless @left == @right && @left;
    my $most = 0;
    for my $i (0 .. $#left) {
        my $apart = abs($left[$i] - $right[$i]);
        $most = $apart if !($apart <= $most);
    }
    return $most;
}

sub columns
{
    my ($text, @columns) = @_;
    return [ map { [ (split)[@columns] ] } grep {/^\S*\d/} split /\n/, $text ];
}

# ---- Against the programs ----

my @train = (qw(klr-train -q -g 0.05 -c 2));
run([ @train, 'heart_scale', "$dir/model" ]);
my $predicted = columns(run([ qw(klr-predict -q --no-header heart_scale),
            "$dir/model", '-' ])->{out}, 0, 2, 1);
my $decided = columns(run([ qw(klr-predict -q --no-header --decision
                heart_scale), "$dir/model", '-' ])->{out}, 1);
my $validated = printed_json(run([ @train, qw(--json -v 5), '--cv-out',
            "$dir/held", 'heart_scale' ]));
my @fold = map { $_->[0] } @{ columns(get("$dir/held"), 0) };
shift @fold if @fold > 270;
my $held = [ @{ columns(get("$dir/held") =~ s/^fold.*\n//r, 2, 4, 3) } ];
my %metric = (accuracy => 'accuracy', logloss => 'log_loss', brier => 'brier',
    auc => 'auc', balanced => 'balanced_accuracy', f1 => 'f1', mcc => 'mcc');

sub same_validation
{
    my ($told, $what) = @_;
    cmp_ok(abs($told->{$_} - $validated->{ $metric{$_} }), '<', 1e-9,
        "$what: $_ of klr-train -v") for sort keys %metric;
    cmp_ok(apart([ map { [ $told->{prediction}[$_],
                        @{ $told->{probability}[$_] } ] } 0 .. 269 ], $held),
        '<', 1e-9, "$what: its predictions");
    return;
}

my @with = imports($python, 'numpy') ? qw(bare numpy) : ('bare');
for my $with (@with) {
    my $told = told($with, <<"END");
a = klr.KLR(C=2, gamma=0.05).fit(X, y)
a.save('$dir/saved')
b = klr.KLR.load('$dir/model')
fold = [@{[ join ', ', map { $_ - 1 } @fold ]}]
names = ['sick' if v > 0 else 'healthy' for v in y]
c = klr.KLR(C=2, gamma=0.05).fit(X, names)
v = klr.cross_validate(a, X, y)
w = klr.cross_validate(a, X, y, cv=fold)
for r in (v, w):
    r['probability'] = lists(r['probability'])
    r['prediction'] = lists(r['prediction'])
K = [[sum(u * v for u, v in zip(r, s)) for s in X] for r in X]
some = klr.KLR(C=1, kernel='precomputed').fit(K, y, [0] * 35 + [1] * 235)
rest = klr.KLR(C=1, kernel='linear').fit(X[35:], y[35:])
large = klr.KLR(C=2, gamma=0.05).fit(X, [2 ** 53 + (v > 0) for v in y])
grid = klr.cross_validate(klr.KLR(C=[2, 20], gamma=0.05), X, y)
weighted = klr.KLR(gamma=0.05, class_weight={-1: 3, 1: 0.5}).fit(X, y)
double = klr.KLR(gamma=0.05).fit(X, y, [2] * 90 + [1] * 180)
both = klr.KLR(gamma=0.05, class_weight={-1: 3}).fit(X, y, [2, 1, 1] * 90)
product = [w * (3 if v < 0 else 1) for w, v in zip([2, 1, 1] * 90, y)]
even = klr.KLR(gamma=0.05, class_weight='balanced').fit(X, y)
halves = [1, 0] * 135
turned = klr.KLR(C=1, gamma=0.05, options={'positive': '-1'}).fit(X, y)
plain = klr.KLR(C=1, gamma=0.05).fit(X, y)
square = klr.KLR(kernel='polynomial', degree=2, gamma=0.05, coef0=1).fit(X, y)
generator = type('Generator', (), {'randint': lambda self, most: 7})()
drawn = [klr.cross_validate(klr.KLR(gamma=0.05, random_state=s), X, y)['fold']
         for s in (generator, 7, None)]
refused = []
for wrong in (lambda: a.fit([[float('nan')], [1.0]], [1, 2]),
              lambda: a.fit(X, [1] * 270), lambda: klr.KLR().predict(X),
              lambda: klr.KLR(C=-1).fit(X, y), lambda: b.predict([1.0, 2.0]),
              lambda: a.set_params(none=1), lambda: klr.KLR.load('$dir/none'),
              lambda: klr.KLR(C=[1, 10, 100]).fit(X, y),
              lambda: klr.cross_validate(a, X, y, cv=[0, 1, 2]),
              lambda: klr.cross_validate(a, X, y, cv=[-1, 0] * 135),
              lambda: klr.cross_validate(a, X, y, cv=[0.5, 1] * 135),
              lambda: a.score(X, y[:5]), lambda: a.score(X, y, [1, 1]),
              lambda: a.fit(X, y[:5], [0, 1, 1, 1, 1]),
              lambda: klr.KLR(class_weight='even').fit(X, y)):
    try:
        wrong()
    except (ValueError, OSError, TypeError) as error:
        refused.append(str(error))
print(json.dumps({
    'array': klr.numpy is not None, 'classes': lists(c.classes_),
    'label': lists(a.predict(X)), 'probability': lists(a.predict_proba(X)),
    'decision': lists(a.decision_function(X)), 'score': a.score(X, y),
    'loaded': lists(b.predict_proba(X)), 'name': lists(c.predict(X)),
    'folds': v, 'given': w, 'status': a.status_, 'shown': repr(a),
    'some': lists(some.predict_proba(K)), 'rest': lists(rest.predict_proba(X)),
    'large': [int(v) - 2 ** 53 for v in large.predict(X)],
    'grid': grid['accuracy'],
    'weighted': lists(weighted.predict_proba(X)), 'refused': refused,
    'twice': [lists(m.predict_proba(X)) for m in
              (double, klr.KLR(gamma=0.05).fit(X + X[:90], y + y[:90]))],
    'both': [lists(m.predict_proba(X)) for m in
             (both, klr.KLR(gamma=0.05).fit(X, y, product))],
    'even': [lists(m.predict_proba(X)) for m in
             (even, klr.KLR(gamma=0.05, class_weight={-1: 270 / 300,
                                                      1: 270 / 240}).fit(X, y))],
    'log': lists(a.predict_log_proba(X)), 'half': a.score(X, y, halves),
    'default': repr(klr.KLR()), 'params': sorted(a.get_params()),
    'changed': klr.KLR().set_params(C=3).get_params()['C'],
    'turned': [lists(m.decision_function(X)) for m in (turned, plain)],
    'square': lists(square.predict_proba(X)),
    'drawn': [drawn[0] == drawn[1], drawn[0] == drawn[2]],
    'threads': [klr.KLR(n_jobs=n)._threads() for n in (None, -1, 3)],
    'votes': klr.votes_of([0.5, -0.25, 2.0], 3),
    'imported': 'sklearn' in sys.modules}))
END
    is($told->{array} ? 'numpy' : 'bare', $with, "$with: what is there");
    my @answers = map { [ $told->{label}[$_], @{ $told->{probability}[$_] } ] }
        0 .. 269;
    cmp_ok(apart(\@answers, $predicted), '<', 1e-9, "$with: klr-predict's");
    cmp_ok(apart($told->{decision}, $decided), '<', 1e-9, "$with: decisions");
    cmp_ok(apart($told->{loaded}, $told->{probability}), '<', 1e-9,
        "$with: a model of klr-train");
    is_deeply($told->{name}, [ map { $_ > 0 ? 'sick' : 'healthy' }
                @{ $told->{label} } ], "$with: names of classes");
    is_deeply($told->{classes}, [qw(healthy sick)], "$with: classes_");
    my $right = grep { $predicted->[$_][0] == (split ' ', (split /\n/,
                get('heart_scale'))[$_])[0] } 0 .. 269;
    cmp_ok(abs($told->{score} - $right / 270), '<', 1e-12, "$with: score");
    is("$told->{status} $told->{shown}", 'converged KLR(C=2, gamma=0.05)',
        "$with: repr");
    same_validation($told->{folds}, "$with, folds by the seed");
    same_validation($told->{given}, "$with, given folds");
    run([ qw(klr-train -q -g 0.05 -w-1 3 -w1 0.5 heart_scale),
            "$dir/weighted" ]);
    cmp_ok(apart($told->{weighted}, columns(run([ qw(klr-predict -q
                        --no-header heart_scale), "$dir/weighted", '-' ])->{out},
                2, 1)), '<', 1e-9, "$with: class_weight");
    is(run([ 'klr-predict', '-q', '--no-header', 'heart_scale', "$dir/saved",
                '-' ])->{out}, run([ qw(klr-predict -q --no-header heart_scale),
                "$dir/model", '-' ])->{out}, "$with: a model for klr-predict");
    like(join("\n", @{ $told->{refused} }), qr/\Arow\ 1,\ column\ 1:.*NaN.*\n
        y\ has\ 1\ class.*\n This\ KLR\ is\ not\ fitted.*\n option\ -c.*\n
        .*\n Invalid\ parameter\ 'none'.*\n .*\n to\ compare\ several.*\n
        270\ rows,\ but\ 3.*\n (?:cv:\ folds\ are\ whole.*\n){2}
        270\ rows,\ but\ 5.*\n 270\ rows,\ but\ 2.*\n
        270\ rows,\ but\ 5.*\n class_weight\ is.*\z/x, "$with: refusals");
    cmp_ok(apart($told->{some}, $told->{rest}), '<', 1e-5,
        "$with: rows of a given kernel that weigh nothing");
    cmp_ok(apart(@{ $told->{$_} }), '<', 1e-4, "$with: $_") for qw(twice both even);
    cmp_ok(apart($told->{log}, [ map { [ map { log } @$_ ] }
                @{ $told->{probability} } ]), '<', 1e-12,
        "$with: predict_log_proba");
    my $half = grep { $_ % 2 == 0 && $predicted->[$_][0] == (split ' ', (split
                    /\n/, get('heart_scale'))[$_])[0] } 0 .. 269;
    cmp_ok(abs($told->{half} - $half / 135), '<', 1e-12, "$with: weighted score");
    is("$told->{default} $told->{changed} " . join(' ', @{ $told->{params} }),
        'KLR() 3 C class_weight coef0 degree gamma kernel link max_iter model '
            . 'multiclass n_jobs options random_state scale tol',
        "$with: parameters");
    cmp_ok(apart(@{ $told->{turned} }), '<', 1e-3,
        "$with: decisions do not turn with --positive");
    run([ qw(klr-train -q -t polynomial -d 2 -g 0.05 -r 1 heart_scale),
            "$dir/square" ]);
    cmp_ok(apart($told->{square}, columns(run([ qw(klr-predict -q --no-header
                        heart_scale), "$dir/square", '-' ])->{out}, 2, 1)), '<',
        1e-9, "$with: a polynomial kernel");
    is_deeply($told->{drawn}, [ JSON::PP::true, JSON::PP::false ],
        "$with: seeds, or generators of them");
    is("@{ $told->{threads} }", '0 0 3', "$with: n_jobs");
    # One vote each; 0 beats 1 by 0.5, 2 beats 0 by 0.25, 1 beats 2 by 2.
    cmp_ok(apart($told->{votes}, [ map { 1 + $_ / (3 * (abs($_) + 1)) }
                0.25, 1.5, -1.75 ]), '<', 1e-12, "$with: votes");
    ok(!$told->{imported}, "$with: scikit-learn is not imported");
    is_deeply($told->{large}, [ map { $_ > 0 ? 1 : 0 } @{ $told->{label} } ],
        "$with: labels that are one as doubles");
    cmp_ok($told->{grid}, '>=', $told->{folds}{accuracy} - 0.05,
        "$with: the best of several C");
}

# ---- More of arrays ----

SKIP: {
    skip 'scipy is not installed', 2 unless imports($python, 'scipy');
    my $told = told('numpy', <<"END");
import numpy, pickle, scipy.sparse
D = numpy.array(X)
halves = [0, 1] * 135
dense = klr.KLR(gamma=0.05, scale='standard').fit(D, y)
frame = type('Frame', (), {'shape': D.shape, '__len__': lambda self: 270,
                           '__array__': lambda self, *_, **__: D,
                           '__getitem__': None})()
half = [klr.KLR(gamma=0.05).fit(rows, y, halves).predict_proba(D).tolist()
        for rows in (D, scipy.sparse.coo_matrix(D), frame)]
arrays = klr.cross_validate(klr.KLR(C=numpy.array([2.0])), D, y, numpy.int64(5))
sparse = klr.KLR(gamma=0.05, scale='standard').fit(scipy.sparse.csc_matrix(D), y)
squares = ((D[:, None, :] - D[None]) ** 2).sum(2)
K = numpy.exp(-0.05 * squares)
given = klr.KLR(kernel='precomputed').fit(K, y)
rbf = klr.KLR(gamma=0.05).fit(D.astype('float32').astype(float), y)
given.save('$dir/given')
three = [min(int(3 * i / 270), 2) for i in range(270)]
P = {m: klr.KLR(gamma=0.05, multiclass=m).fit(D, three) for m in
     ('ovo', 'ova', 'ddag', 'softmax')}
svm = klr.KLR(model='svm', gamma=0.05).fit(D, three)
decision = svm.decision_function(D)
files = []
for m in ('ovo', 'ova', 'ddag'):
    a = klr.KLR(model='svm', gamma=0.05, multiclass=m).fit(D, three)
    a.save('$dir/file')
    b = klr.KLR.load('$dir/file')
    files.append(bool((a.decision_function(D) == b.decision_function(D)).all()))
    a.set_params(multiclass='ova' if m == 'ovo' else 'ovo', kernel='precomputed')
    files.append(bool((a.decision_function(D) == b.decision_function(D)).all()))
votes = numpy.rint(decision)
tied = (votes == votes.max(1)[:, None]).sum(1) > 1
print(json.dumps({
    'dense': dense.predict_proba(D).tolist(),
    'sparse': sparse.predict_proba(scipy.sparse.coo_matrix(D)).tolist(),
    'pickled': pickle.loads(pickle.dumps(dense)).predict_proba(D).tolist(),
    'given': given.predict_proba(K).tolist(), 'files': files,
    'half': half, 'arrays': arrays['accuracy'],
    'kept': klr.KLR.load('$dir/given').predict_proba(K).tolist(),
    'rbf': klr.KLR(gamma=0.05).fit(D, y).predict_proba(D).tolist(),
    'agree': [int((P[m].predict(D) == P[m].decision_function(D).argmax(1)).sum())
              for m in P] + [int((tied | (svm.predict(D) ==
                                          decision.argmax(1))).sum())]}))
END
    cmp_ok(apart($told->{sparse}, $told->{dense}), '<', 1e-12, 'sparse rows');
    cmp_ok(apart($told->{pickled}, $told->{dense}), '<', 1e-12, 'a pickle');
    cmp_ok(apart($told->{given}, $told->{rbf}), '<', 1e-5, 'a given kernel');
    cmp_ok(apart($told->{kept}, $told->{given}), '<', 1e-12, 'from a file');
    cmp_ok(apart($told->{half}[$_], $told->{half}[0]), '<', 1e-9,
        'rows of any kind that weigh nothing') for 1, 2;
    cmp_ok($told->{arrays}, '>', 0.7, 'numbers of numpy as parameters');
    is_deeply($told->{files}, [ (JSON::PP::true) x 6 ],
        'a model knows its machines and its kernel itself');
    is("@{ $told->{agree} }", '270 270 270 270 270',
        'the largest decision value is the answer');
}

# ---- scikit-learn ----

# From 1.6 on it asks for these, as dataclasses of its own.
{
    my $told = told('bare', <<"END");
import types
def record(name):
    return lambda **fields: types.SimpleNamespace(kind=name, **fields)
sys.modules['sklearn'] = types.ModuleType('sklearn')
sys.modules['sklearn.utils'] = types.SimpleNamespace(**{
    name: record(name) for name in ('Tags', 'ClassifierTags', 'InputTags',
                                    'TargetTags')})
tags = [klr.KLR(kernel=k).__sklearn_tags__() for k in ('rbf', 'precomputed')]
print(json.dumps([[t.kind, t.estimator_type, t.classifier_tags.kind,
                   t.target_tags.required, t.input_tags.pairwise,
                   t.input_tags.sparse] for t in tags]
                 + [klr.KLR(kernel=k)._more_tags()['pairwise']
                    for k in ('rbf', 'precomputed')]
                 + [m.__sklearn_is_fitted__() for m in
                    (klr.KLR(), klr.KLR().fit(X, y))]))
END
    my ($yes, $no) = (JSON::PP::true, JSON::PP::false);
    is_deeply($told, [ (map { [ qw(Tags classifier ClassifierTags), $yes, @$_ ] }
            [ $no, $yes ], [ $yes, $no ]), $no, $yes, $no, $yes ], 'tags');
}

SKIP: {
    skip 'scikit-learn is not installed', 3 unless imports($python, 'sklearn');
    my $told = told('numpy', <<"END");
import warnings
from sklearn.utils.estimator_checks import check_estimator
from sklearn.exceptions import SkipTestWarning
from sklearn.model_selection import PredefinedSplit, cross_val_score
warnings.simplefilter('ignore')
check_estimator(klr.KLR(n_jobs=1))
fold = [@{[ join ', ', map { $_ - 1 } @fold ]}]
x = klr.numpy.array(X)
squares = ((x[:, None, :] - x[None]) ** 2).sum(2)
print(json.dumps([cross_val_score(klr.KLR(C=2, n_jobs=1, **given), rows, y,
                                  cv=PredefinedSplit(fold)).tolist()
                  for rows, given in ((X, {'gamma': 0.05}),
                      (klr.numpy.exp(-0.05 * squares),
                       {'kernel': 'precomputed'}))]))
END
    my (@right, @all);
    my @truth = map { (split)[0] } split /\n/, get('heart_scale');
    for my $i (0 .. 269) {
        $all[ $fold[$i] - 1 ]++;
        $right[ $fold[$i] - 1 ] += $held->[$i][0] == $truth[$i];
    }
    cmp_ok(apart($told->[0], [ map { $right[$_] / $all[$_] } 0 .. $#all ]), '<',
        1e-9, 'cross_val_score by the same folds');
    cmp_ok(apart(@$told), '<', 1e-9, '... of a kernel matrix');
}

done_testing();
