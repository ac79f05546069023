// Where things are kept for users of whom not everything is known.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import type { Environment } from './locations.ts';

interface Places {
  readonly home: string;
  readonly cache: string;
  readonly cacheIfAny?: string;
}

/** What they are for a user that the machine does not know: root becomes one. */
function placesOf(env: Environment): Places {
  const program = `
import { cacheIfAny, portholeCache, portholeHome } from ${JSON.stringify(new URL('./locations.ts', import.meta.url).href)};
import { nextStepAfter } from ${JSON.stringify(new URL('../next-step.ts', import.meta.url).href)};
process.setgroups([]);
process.setgid(54321);
process.setuid(54321);
const env = ${JSON.stringify(env)};
const said = (place) => {
  try {
    return place(env);
  } catch (error) {
    return error.message + ': ' + nextStepAfter(error);
  }
};
process.stdout.write(JSON.stringify({ home: said(portholeHome), cache: said(portholeCache), cacheIfAny: cacheIfAny(env) }));`;
  return JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
      encoding: 'utf8',
      cwd: '/',
    }),
  ) as Places;
}

const skip = process.getuid?.() === 0 ? false : 'only root can become another user';

test('a user without a home is told what to set, and commands that keep nothing do without', { skip }, () => {
  for (const env of [{}, { HOME: '' }, { HOME: 'relative', XDG_STATE_HOME: '', XDG_CACHE_HOME: '' }])
    assert.deepEqual(placesOf(env), {
      home: 'this user has no home folder: set HOME, or PORTHOLE_HOME to a folder that this user may write to',
      cache:
        'this user has no home folder: set HOME, or PORTHOLE_CACHE to a folder that this user may write to',
    });
});

test('PORTHOLE_HOME is enough', { skip }, () => {
  const cache = '/nowhere/cache';
  assert.deepEqual(placesOf({ PORTHOLE_HOME: '/nowhere' }), { home: '/nowhere', cache, cacheIfAny: cache });
});

test('a folder of XDG that is empty or not absolute counts as none, and so does such a HOME', {
  skip,
}, () => {
  const [home, cache] = ['/u/.local/state/porthole', '/u/.cache/porthole'];
  for (const none of ['', 'here', './here', '~/here'])
    assert.deepEqual(placesOf({ HOME: '/u', XDG_STATE_HOME: none, XDG_CACHE_HOME: none }), {
      home,
      cache,
      cacheIfAny: cache,
    });
  assert.deepEqual(placesOf({ HOME: '', XDG_STATE_HOME: '/s', XDG_CACHE_HOME: '/c' }), {
    home: '/s/porthole',
    cache: '/c/porthole',
    cacheIfAny: '/c/porthole',
  });
});
