// Which node a user speaks for: `system:node:<name>` in the group system:nodes.

const prefix = 'system:node:';

/** undefined: the user is no node. '': a member of system:nodes without a node's name. */
export function nodeNameOf(user: {
  readonly name: string;
  readonly groups: readonly string[];
}): string | undefined {
  if (!user.name.startsWith(prefix) || !user.groups.includes('system:nodes')) return undefined;
  return user.name.slice(prefix.length);
}
