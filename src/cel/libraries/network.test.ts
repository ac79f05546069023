// IP addresses, prefixes and URLs, as Go's netip and net/url read them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertCosts, assertValues, checkedExpression } from '../testing/expressions.ts';

test('addresses', () => {
  assertValues([
    ['ip("10.1.2.3").family() + ip("fe80::1").family()', '10'],
    ['string(ip("FE80:0::1"))', 'fe80::1'],
    ['ip.isCanonical("fe80::1") && !ip.isCanonical("FE80::1")', 'true'],
    ['ip("::1") == ip("0:0::1") && ip("1.2.3.4") != ip("1.2.3.5")', 'true'],
    ['[ip("127.8.0.1"), ip("::1")].all(i, i.isLoopback() && !i.isGlobalUnicast())', 'true'],
    ['[ip("0.0.0.0"), ip("::")].all(i, i.isUnspecified())', 'true'],
    ['[ip("169.254.0.1"), ip("fe80::1")].all(i, i.isLinkLocalUnicast())', 'true'],
    ['[ip("224.0.0.1"), ip("ff02::1")].all(i, i.isLinkLocalMulticast())', 'true'],
    ['[ip("8.8.8.8"), ip("10.0.0.1"), ip("2001:db8::1")].all(i, i.isGlobalUnicast())', 'true'],
    ['isIP("1.2.3.4") && !isIP("1.2.3") && !isIP("fe80::1%eth0") && !isIP("::ffff:1.2.3.4")', 'true'],
    ['type(ip("::1")) == net.IP', 'true'],
  ]);
});

test('why a text is no address or prefix', () => {
  const table: [text: string, why: string][] = [
    ['x', 'unable to parse IP'],
    ['1.2.3', 'IPv4 address too short'],
    ['1.2.3.4.5', 'IPv4 address too long'],
    ['1.2.3.256', 'IPv4 field has value >255'],
    ['1.2.03.4', 'IPv4 field has octet with leading zero'],
    ['1..3.4', 'IPv4 field must have at least one digit (at ".3.4")'],
    ['1.2.x.4', 'unexpected character (at "x.4")'],
    ['1:2:::3', 'each colon-separated field must have at least one digit (at ":3")'],
    ['1::2::3', 'multiple :: in address (at ":3")'],
    ['12345::', 'each group must have 4 or less digits (at "12345::")'],
    ['1:2:3:4:5:6:7', 'address string too short'],
    ['1:2:3:4:5:6:7:8:9', 'trailing garbage after address (at "9")'],
    ['1:2.3.4.5', 'embedded IPv4 address must replace the final 2 fields of the address (at "2.3.4.5")'],
    ['1:g::', 'each colon-separated field must have at least one digit (at "g::")'],
    ['1:2g::', 'unexpected character, want colon (at "g::")'],
    ['1:', 'colon must be followed by more characters (at ":")'],
    ['::1%', 'zone must be a non-empty string'],
  ];
  assertValues(
    table.map(([text, why]) => [
      `ip("${text}")`,
      `IP Address "${text}" parse error during conversion from string: ParseAddr("${text}"): ${why}`,
    ]),
  );
  const prefix = 'network address parse error during conversion from string: ';
  const prefixes: [text: string, why: string][] = [
    ['10.0.0.0', "no '/'"],
    ['10.0.0.0/33', 'prefix length out of range'],
    ['10.0.0.0/08', 'bad bits after slash: "08"'],
    ['10.0.0/8', 'ParseAddr("10.0.0"): IPv4 address too short'],
    ['fe80::1%e/8', 'IPv6 zones cannot be present in a prefix'],
  ];
  assertValues(
    prefixes.map(([text, why]) => [
      `cidr("${text}")`,
      `${prefix}${prefix}netip.ParsePrefix("${text}"): ${why}`,
    ]),
  );
});

test('prefixes', () => {
  assertValues([
    ['cidr("10.0.0.0/8").containsIP("10.1.2.3") && cidr("10.0.0.0/8").containsIP(ip("10.1.2.3"))', 'true'],
    ['cidr("10.0.0.0/8").containsIP("::1")', 'false'],
    [
      'cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16") && !cidr("10.1.0.0/16").containsCIDR(cidr("10.0.0.0/8"))',
      'true',
    ],
    [
      'string(cidr("10.1.2.3/8")) + string(cidr("10.1.2.3/8").masked()) + string(cidr("::1/64").ip())',
      '10.1.2.3/810.0.0.0/8::1',
    ],
    ['cidr("10.0.0.0/8").prefixLength() + (isCIDR("10.0.0.0/8") && !isCIDR("10.0.0.0") ? 1 : 0)', '9'],
    ['cidr("10.0.0.0/8") == cidr("10.0.0.0/8") && cidr("10.0.0.0/8") != cidr("10.0.0.1/8")', 'true'],
  ]);
  assertCosts([
    ['cidr("10.0.0.0/8").containsIP("10.1.2.3")', 3, 6],
    ['cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16")', 1 + 1 + 1 + 1 + 2, 1 + 4 + 2 + 1 + 2],
  ]);
});

test('URLs', () => {
  const url = 'https://user@Example.com:8080/a%2Fb c/d?x=1&x=%202&y=a+b&bad=%zz#part';
  assertValues([
    [`url("${url}").getScheme() + " " + url("${url}").getHost()`, 'https Example.com:8080'],
    [`url("${url}").getHostname() + ":" + url("${url}").getPort()`, 'Example.com:8080'],
    [`url("${url}").getEscapedPath()`, '/a%2Fb%20c/d'.replace('%2F', '/')],
    [`url("${url}").getQuery()`, '{x: [1,  2], y: [a b]}'],
    ['url("https://[fe80::1]:80/").getHostname() + url("/p?q").getEscapedPath()', 'fe80::1/p'],
    [
      'isURL("/a") && isURL("mailto:x") && !isURL("a/b") && !isURL("http://a b/") && !isURL("http://a:b/")',
      'true',
    ],
    ['url("a")', 'URL parse error during conversion from string: parse "a": invalid URI for request'],
    [
      'url("http://h/%zz")',
      'URL parse error during conversion from string: parse "http://h/%zz": invalid URL escape "%zz"',
    ],
    [
      'url("http://h:x/")',
      'URL parse error during conversion from string: parse "http://h:x/": invalid port ":x" after host',
    ],
    ['url(":a")', 'URL parse error during conversion from string: parse ":a": missing protocol scheme'],
  ]);
  assert.equal(checkedExpression('url("/a") == url("/a")').estimate().max, 3);
});
