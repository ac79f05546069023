// Quantities, versions and named formats.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileExpression } from '../compile.ts';
import { assertCosts, assertValues } from '../testing/expressions.ts';
import { kubernetesEnvironment } from './kubernetes.ts';

test('quantities are amounts, however they are written', () => {
  assertValues([
    ['quantity("1Gi") == quantity("1024Mi") && quantity("1") != quantity("1m")', 'true'],
    ['quantity("1Gi").isGreaterThan(quantity("1G")) && quantity("1m").isLessThan(quantity("1"))', 'true'],
    ['quantity("1k").compareTo(quantity("1000")) + sign(quantity("-1"))', '-1'],
    ['quantity("50k").add(quantity("20")).asInteger() + quantity("50k").sub(20).asInteger()', '100000'],
    ['quantity("500m").isInteger() || quantity("1Ei").add(quantity("9Ei")).isInteger()', 'false'],
    ['quantity("500m").asInteger()', 'cannot convert value to integer'],
    ['quantity("1.5").asApproximateFloat()', '1.5'],
    ['quantity("1") == dyn(1)', 'no such overload'],
    ['dyn(1) == quantity("1") || quantity("1") == null || [quantity("1")] == dyn([1])', 'false'],
    ['quantity("1") != dyn(1) && quantity("1") == dyn(quantity("1"))', 'true'],
    ['isQuantity("1Gi") && !isQuantity("1GB") && !isQuantity(" 1")', 'true'],
    [
      'quantity("x")',
      "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
    ],
  ]);
  assertCosts([['quantity("12345678901").add(quantity("1")).asInteger()', 2 + 1 + 1 + 1, 5]]);
});

test('versions are compared by precedence', () => {
  const order = [
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-alpha.beta',
    '1.0.0-2a',
    '1.0.0-beta.2',
    '1.0.0-beta.11',
    '1.0.0',
    '1.0.1',
    '2.0.0',
  ];
  const sorted = ['1.0.0-2a', ...order.filter((version) => version !== '1.0.0-2a')];
  assertValues(
    sorted.slice(1).map((version, i) => [`semver("${sorted[i]}").isLessThan(semver("${version}"))`, 'true']),
  );
  assertValues([
    ['semver("1.2.3+a") == semver("1.2.3+b") && semver("1.2.3").compareTo(semver("1.2.2")) == 1', 'true'],
    ['[semver("1.2.3").major(), semver("1.2.3").minor(), semver("1.2.3").patch()]', '[1, 2, 3]'],
    ['semver("v01.2", true) == semver("1.2.0") && isSemver("v1", true) && !isSemver("v1.0.0")', 'true'],
    ['semver("1.0")', 'No Major.Minor.Patch elements found'],
    ['semver("01.0.0")', 'Major number must not contain leading zeroes "01"'],
    ['semver("1.x.0")', 'Invalid character(s) found in minor number "x"'],
    ['semver("1.0.0-01")', 'Numeric PreRelease version must not contain leading zeroes "01"'],
    ['semver("1.0-a", true)', 'short version cannot contain PreRelease/Build meta data'],
  ]);
});

test('formats have names, and tell why a text is no such thing', () => {
  assertValues([
    ['format.dns1123Label().validate("a-b").hasValue()', 'false'],
    ['format.dns1123Label().validate("a.b").value().size()', '1'],
    ['format.dns1123LabelPrefix().validate("a-").hasValue()', 'false'],
    ['format.named("uuid").value().validate("x")', 'optional([does not match the UUID format])'],
    ['format.named("nothing").hasValue()', 'false'],
    ['format.uri().validate("x")', 'optional([parse "x": invalid URI for request])'],
    ['format.date().validate("2026-01-31").hasValue() || format.byte().validate("aGk=").hasValue()', 'false'],
    ['format.named("labelValue") == optional.of(format.labelValue())', 'true'],
  ]);
  assertCosts([
    ['format.dns1123Label().validate("my-label")', 1 + 8, 1 + 32],
    // The pattern of each counts for its length.
    ['format.uuid().validate("0b5cd2b7-5a4e-4ab6-8f2c-2d9c5a3f1e77")', 1 + 4 * 18, 1 + 4 * 32],
    ['format.date().validate("2026-01-31")', 1 + 2 * 18, 1 + 32],
    ['format.datetime().validate("2026-01-31T12:00:00Z")', 1 + 3 * 18, 1 + 2 * 32],
  ]);
  assert.match(
    String(compileExpression('format.nothing()', kubernetesEnvironment)),
    /undeclared reference to 'nothing'/,
  );
});
