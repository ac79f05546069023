// Names with a domain and names too long for their place, in upstream's words.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fieldErrorText } from '../field-error.ts';
import { labelValueErrors, qualifiedNameErrors } from '../labels.ts';
import { domainPrefixedPath, fullyQualifiedDomainName } from './checks.ts';
import { configMapKey, dns1035Label, dnsLabel, dnsSubdomain, portName } from './names.ts';

const told = (rule: typeof domainPrefixedPath, text: string): string[] =>
  rule('at', text).map((one) => fieldErrorText(one).replace(/ \(.*/, ''));

test('of a path with a domain the part that is wrong is shown', () => {
  const subdomain =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
  assert.deepEqual(told(domainPrefixedPath, 'my.org/jobs/x'), []);
  assert.deepEqual(told(domainPrefixedPath, ''), ['at: Required value']);
  assert.deepEqual(told(domainPrefixedPath, 'my.org'), [
    'at: Invalid value: "my.org": must be a domain-prefixed path',
  ]);
  assert.deepEqual(told(domainPrefixedPath, 'My/a b'), [
    `at: Invalid value: "My": ${subdomain}`,
    'at: Invalid value: "a b": Invalid path',
  ]);
});

test('of a domain name the part that is wrong is shown, without its last dot', () => {
  assert.deepEqual(told(fullyQualifiedDomainName, 'my.org.'), []);
  assert.deepEqual(told(fullyQualifiedDomainName, 'org.'), [
    'at: Invalid value: "org": should be a domain with at least two segments separated by dots',
  ]);
  const long = 'x'.repeat(64);
  assert.deepEqual(told(fullyQualifiedDomainName, `my.${long}.${long}y`), [
    `at: Invalid value: "${long}": must be no more than 63 characters`,
  ]);
});

test('upstream counts bytes, and calls them so of keys and values alone', () => {
  const long = 'x'.repeat(254);
  assert.deepEqual(dnsSubdomain(long), ['must be no more than 253 characters']);
  assert.deepEqual(configMapKey(long), ['must be no more than 253 characters']);
  assert.deepEqual(dnsLabel(long.slice(0, 64)), ['must be no more than 63 characters']);
  assert.deepEqual(dns1035Label(long.slice(0, 64)), ['must be no more than 63 characters']);
  assert.deepEqual(portName(long.slice(0, 16)), ['must be no more than 15 characters']);
  assert.deepEqual(labelValueErrors(long.slice(0, 64)), ['must be no more than 63 bytes']);
  assert.deepEqual(qualifiedNameErrors(`${long}/x`), ['prefix part must be no more than 253 bytes']);
  assert.equal(portName('porté'.padEnd(15, 'x'))[0], 'must be no more than 15 characters');
  assert.equal(labelValueErrors('é'.padEnd(63, 'x'))[0], 'must be no more than 63 bytes');
});
