// Finding the machine's Debian mirror.
import assert from 'node:assert/strict';
import test from 'node:test';
import { debianMirror, parseDeb822Sources, parseSourcesList } from './apt-sources.ts';

test('the one-line format is read with options and comments', () => {
  const sources = parseSourcesList(
    '# deb http://no.example/debian bookworm main\n' +
      'deb-src http://m.example/debian bookworm main\n' +
      'deb [arch=amd64 signed-by=/k.gpg] http://m.example/debian bookworm main contrib # the mirror\n',
  );
  assert.deepEqual(sources, [
    {
      uri: 'http://m.example/debian',
      suites: ['bookworm'],
      components: ['main', 'contrib'],
      signedBy: '/k.gpg',
    },
  ]);
});

test('deb822 is read with folded fields, comments inside and disabled paragraphs', () => {
  const sources = parseDeb822Sources(
    'Types: deb\n# comment\nURIs: http://m.example/debian\nSuites: bookworm\n bookworm-updates\nComponents: main\n' +
      'Signed-By: /k.gpg\n\nEnabled: no\nTypes: deb\nURIs: http://x.example/debian\nSuites: bookworm\nComponents: main\n',
  );
  assert.deepEqual(sources, [
    {
      uri: 'http://m.example/debian',
      suites: ['bookworm', 'bookworm-updates'],
      components: ['main'],
      signedBy: '/k.gpg',
    },
  ]);
});

test('the mirror is the Debian archive, not security and not somebody else', () => {
  const sources = [
    { uri: 'https://packages.example/apt', suites: ['cloud-sdk-bookworm'], components: ['main'] },
    { uri: 'http://m.example/debian-security', suites: ['bookworm-security'], components: ['main'] },
    { uri: 'http://m.example/debian', suites: ['bookworm', 'bookworm-updates'], components: ['main'] },
  ];
  assert.equal(debianMirror(sources)?.uri, 'http://m.example/debian');
  assert.equal(debianMirror(sources.slice(0, 2)), undefined);
});
