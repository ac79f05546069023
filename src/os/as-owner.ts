// Root in somebody else's folder: what that one may not do, root does not do for him.
import { lstatSync, readlinkSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';

const rootId = 0;
const nobodyId = 65_534;
const mostLinks = 40;

/** Those who could lead a path elsewhere: the owners of its folders and links. Of a file that is there, its folder's owner decides. */
function ownersOfWay(path: string): Set<number> {
  const owners = new Set<number>();
  const names = path.split('/');
  let links = 0;
  for (let at = '/'; names.length > 0; ) {
    const next = join(at, names.shift()!);
    const found = lstatSync(next, { throwIfNoEntry: false });
    if (!found) break;
    if (found.isDirectory() || found.isSymbolicLink()) owners.add(found.uid);
    if (!found.isSymbolicLink()) {
      at = next;
      continue;
    }
    if (++links > mostLinks) throw new Error(`${path}: too many links`);
    const target = readlinkSync(next);
    names.unshift(...target.split('/'));
    at = target.startsWith('/') ? '/' : dirname(next);
  }
  return owners;
}

/** Of the user whose rights the process has at the moment. One without an account has no group. */
function groupHere(): number {
  try {
    return userInfo().gid;
  } catch {
    return nobodyId;
  }
}

/** Whatever else the process does meanwhile has these rights, too: the body does not wait. */
function withRightsOf<T>(uid: number, body: () => T): T {
  const [group, groups] = [process.getegid!(), process.getgroups!()];
  process.seteuid!(uid);
  const gid = groupHere();
  process.seteuid!(rootId);
  try {
    process.setgroups!([gid]);
    process.setegid!(gid);
    process.seteuid!(uid);
    return body();
  } finally {
    process.seteuid!(rootId);
    process.setegid!(group);
    process.setgroups!(groups);
  }
}

/** With the rights of the user to whom the way to a file belongs. Anybody but root has his own alone. */
export function asOwnerOf<T>(path: string, body: () => T): T {
  if (process.geteuid?.() !== rootId) return body();
  const others = [...ownersOfWay(path)].filter((uid) => uid !== rootId);
  if (others.length > 1)
    throw new Error(`its folders and links belong to several users (${others.join(', ')})`);
  return others[0] === undefined ? body() : withRightsOf(others[0], body);
}
