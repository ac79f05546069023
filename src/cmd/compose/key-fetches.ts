// What is told of looks for keys of issuers, for as long as these are configured.
import type { Clock } from '../../base/clock.ts';
import { sha256Hex } from '../../crypto/digests.ts';
import type { KeysFetched } from '../../plugins/authentication/oidc/provider-keys.ts';
import type { ReloadMetrics } from './reload-metrics.ts';

/** As labels tell of addresses and files; of nothing, nothing. */
export const hashOf = (text: string): string => (text === '' ? '' : `sha256:${sha256Hex(text)}`);

export interface KeyFetches {
  /** For one configuration: once another one holds it tells nothing more. */
  begin(): KeysFetched;
  /** That configuration holds from now on, with these issuers. */
  keep(configuration: KeysFetched, issuers: readonly string[]): void;
  stop(): void;
}

export function keyFetches(
  { keySets, keyLooks }: Pick<ReloadMetrics, 'keySets' | 'keyLooks'>,
  { clock, serverId }: { readonly clock: Pick<Clock, 'now'>; readonly serverId: string },
): KeyFetches {
  const known = new Map<string, { readonly at: Map<'success' | 'failure', number>; keySet: string }>();
  let holds: KeysFetched | undefined;
  const labelsOf = (issuer: string) => ({
    jwt_issuer_hash: hashOf(issuer),
    apiserver_id_hash: hashOf(serverId),
  });
  const ends = [
    keyLooks.add(() =>
      [...known].flatMap(([issuer, { at }]) =>
        [...at].map(([result, seconds]) => [{ ...labelsOf(issuer), result }, seconds] as const),
      ),
    ),
    keySets.add(() =>
      [...known]
        .filter(([, { keySet }]) => keySet !== '')
        .map(([issuer, { keySet }]) => [{ ...labelsOf(issuer), hash: hashOf(keySet) }, 1] as const),
    ),
  ];
  return {
    begin() {
      const fetched: KeysFetched = (issuer, keySet) => {
        // A look may end after another file was taken.
        if (holds !== undefined && holds !== fetched) return;
        const one = known.get(issuer) ?? { at: new Map(), keySet: '' };
        known.set(issuer, one);
        one.at.set(keySet === undefined ? 'failure' : 'success', clock.now() / 1000);
        one.keySet = keySet ?? one.keySet;
      };
      return fetched;
    },
    keep(configuration, issuers) {
      holds = configuration;
      for (const issuer of known.keys()) if (!issuers.includes(issuer)) known.delete(issuer);
    },
    stop() {
      for (const end of ends) end();
    },
  };
}
