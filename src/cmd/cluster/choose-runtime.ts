// Real containers where they can be had, simulated ones elsewhere; and the reason, for the user.
import type { SystemPackage } from '../setup/system-packages.ts';
import type { RuntimeKind } from './cluster-state.ts';

export interface MachineFacts {
  readonly platform: string;
  readonly isRoot: boolean;
  readonly hasApt: boolean;
  readonly missing: readonly SystemPackage[];
}

export type RuntimeChoice =
  | { readonly runtime: RuntimeKind; readonly why: string }
  /** What was asked for can't be had. */
  | { readonly error: string };

/** Why real containers can't run here, or undefined. */
function obstacle(facts: MachineFacts): string | undefined {
  if (facts.platform !== 'linux') return `containers need Linux, and this is ${facts.platform}`;
  if (!facts.isRoot) return 'containers need root (namespaces, cgroups, mounts), and you are not root';
  if (facts.missing.length > 0 && !facts.hasApt) {
    return `missing: ${facts.missing.map((one) => one.name).join(', ')}, and there is no apt-get to install them`;
  }
  return undefined;
}

export function chooseRuntime(asked: 'auto' | RuntimeKind, facts: MachineFacts): RuntimeChoice {
  if (asked === 'simulated')
    return { runtime: 'simulated', why: 'as you asked: pods are state machines, nothing runs' };
  const why = obstacle(facts);
  if (why === undefined) return { runtime: 'containerd', why: 'real containers by containerd and runc' };
  if (asked === 'containerd')
    return { error: `--runtime containerd: ${why}; --runtime simulated needs only Node` };
  return { runtime: 'simulated', why: `${why}. Pods are state machines and nothing runs` };
}
