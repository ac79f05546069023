// Which URLs of a proxied server's answers lead through the proxy, in headers and in pages.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HtmlLinks } from './html-links.ts';
import { proxiedUrl } from './proxied-links.ts';

const prefix = '/api/v1/namespaces/a/pods/web:80/proxy';
const from = { prefix, backendHost: '10.244.0.7:80', clientHost: 'localhost:8001' };

test('URLs of the backend’s own host get the prefix of the proxy, all others stay', () => {
  for (const [url, expected] of [
    ['/x', `${prefix}/x`],
    ['/', `${prefix}/`],
    ['/a/?q=/b#c', `${prefix}/a/?q=/b#c`],
    ['http://10.244.0.7:80/x/', `${prefix}/x/`],
    ['//10.244.0.7:80/x', `${prefix}/x`],
    ['http://localhost:8001/x', `http://localhost:8001${prefix}/x`],
    [`${prefix}/x`, `${prefix}/x`],
    ['x/y', 'x/y'],
    ['../x', '../x'],
    ['?q', '?q'],
    ['#top', '#top'],
    ['', ''],
    ['http://10.244.0.7:80', 'http://10.244.0.7:80'],
    ['https://example.org/x', 'https://example.org/x'],
    ['//example.org/x', '//example.org/x'],
    ['mailto:a@example.org', 'mailto:a@example.org'],
    ['javascript:go(/x/)', 'javascript:go(/x/)'],
  ] as const)
    assert.equal(proxiedUrl(url, from), expected, url);
});

const pages: readonly (readonly [string, string])[] = [
  ['<a href="/x">t</a>', `<a href="${prefix}/x">t</a>`],
  ['<A HREF=/x>t</A>', `<A HREF="${prefix}/x">t</A>`],
  ["<img alt='a>b' src='/i.png'/>", `<img alt='a>b' src='${prefix}/i.png'/>`],
  ['<a title="/x" href="y">', '<a title="/x" href="y">'],
  ['<p href="/x">', '<p href="/x">'],
  ['<!-- <a href="/x"> --><a href="/y">', `<!-- <a href="/x"> --><a href="${prefix}/y">`],
  [
    '<script src="/s.js">if (a<b) w(\'<a href="/x">\')</script><a href="/y">',
    `<script src="${prefix}/s.js">if (a<b) w('<a href="/x">')</script><a href="${prefix}/y">`,
  ],
  ['1 < 2 </> ü<form action="/f">', `1 < 2 </> ü<form action="${prefix}/f">`],
  ['<!DOCTYPE html><link href="/l">', `<!DOCTYPE html><link href="${prefix}/l">`],
  ['<a href="/never ends', '<a href="/never ends'],
  ['<a href=/x?a=b&c=d>t</a>', `<a href="${prefix}/x?a=b&c=d">t</a>`],
  ['<a href=/x/>t</a>', `<a href="${prefix}/x/">t</a>`],
  ['<a title=it\'s href=/x class=">">t</a>', `<a title=it's href="${prefix}/x" class=">">t</a>`],
  ['<a href=/x"y>t</a>', `<a href="${prefix}/x&quot;y">t</a>`],
  ['<a data-href="/n" href = "/x" href>', `<a data-href="/n" href = "${prefix}/x" href>`],
  ['<a href=>t</a><a href>/x</a>', '<a href=>t</a><a href>/x</a>'],
  ['<a =href="/n" href="/x">', `<a =href="/n" href="${prefix}/x">`],
  [
    '<!--><a href="/x"><!-- - -- --!><a href="/y">',
    `<!--><a href="${prefix}/x"><!-- - -- --!><a href="${prefix}/y">`,
  ],
  ['<!-<a href="/x"><', `<!-<a href="${prefix}/x"><`],
  [
    '<title></titles><<a href="/x"></TITLE ><a href="/y">',
    `<title></titles><<a href="/x"></TITLE ><a href="${prefix}/y">`,
  ],
  ['<style></sty</style><a href="/y">', `<style></sty</style><a href="${prefix}/y">`],
  ['</a href="/x"><a href="/y">', `</a href="/x"><a href="${prefix}/y">`],
  [`<${'a'.repeat(40)} href="/x">`, `<${'a'.repeat(40)} href="/x">`],
  [`<a href${'f'.repeat(40)}="/x">`, `<a href${'f'.repeat(40)}="/x">`],
];

test('links of a page are rewritten wherever its pieces are cut', () => {
  for (const [page, expected] of pages)
    for (const size of [1, 2, 3, 7, 1000]) {
      const links = new HtmlLinks((url) => proxiedUrl(url, from));
      const bytes = Buffer.from(page);
      const out: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += size) out.push(links.push(bytes.subarray(at, at + size)));
      out.push(links.end());
      assert.equal(Buffer.concat(out).toString(), expected, `${page} by ${size}`);
    }
});

test('a tag that never ends is passed on, and costs no more than its bytes', () => {
  const links = new HtmlLinks(() => assert.fail('no URL'));
  const piece = Buffer.from('<a '.padEnd(16 * 1024, 'x'));
  let passed = 0;
  for (let i = 0; i < 64; i++) passed += links.push(piece).length;
  assert.ok(passed >= 63 * piece.length - 64 * 1024);
  assert.equal(passed + links.end().length, 64 * piece.length);
});

test('what a hostile page makes of its tags is read in time that grows with its length', () => {
  const body = (size: number): string[] => [
    `<a ${'x'.repeat(size)}>`,
    `<a ${'x '.repeat(size / 2)}>`,
    `<a x${' '.repeat(size)}>`,
    `<a ${'x="'.repeat(size / 3)}>`,
    '<'.repeat(size),
    '</'.repeat(size / 2),
    `<script>${'</scrip'.repeat(size / 7)}`,
  ];
  for (const page of body(60_000)) {
    const from = process.cpuUsage();
    const links = new HtmlLinks(() => '');
    const length = links.push(Buffer.from(page)).length + links.end().length;
    assert.ok(process.cpuUsage(from).user < 500_000, page.slice(0, 12));
    assert.equal(length, page.length);
  }
});

test('a page that comes byte by byte costs what its bytes cost, wherever a tag stays open', () => {
  const size = 300_000;
  for (const begin of [
    '<a ',
    '<a href="/',
    '<a href=/',
    '<a x="',
    '<!-- ',
    '<',
    '</',
    '<script>',
    '<script></',
  ]) {
    const bytes = Buffer.from(begin.padEnd(size, 'x'));
    const from = process.cpuUsage();
    const links = new HtmlLinks((url) => url);
    let [length, kept] = [0, 0];
    for (let at = 0; at < size; at++) {
      length += links.push(bytes.subarray(at, at + 1)).length;
      kept = Math.max(kept, at + 1 - length);
    }
    length += links.end().length;
    assert.ok(process.cpuUsage(from).user < 3_000_000, begin);
    assert.equal(length, size, begin);
    assert.ok(kept <= 64 * 1024 + 1, `${begin} ${kept}`);
  }
});
