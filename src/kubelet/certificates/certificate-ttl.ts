// How long the certificates of a node are good.
import type { Clock } from '../../base/clock.ts';
import type { MetricsRegistry } from '../../component-base/metrics.ts';
import { certificateFacts } from '../../crypto/subject.ts';

const whose = { client: 'client', server: 'serving' } as const;

function endOf(pem: string | undefined): number {
  if (pem === undefined) return Number.POSITIVE_INFINITY;
  try {
    return certificateFacts(pem).notAfter;
  } catch {
    return Number.POSITIVE_INFINITY; // as upstream says of one that is not valid
  }
}

/** `current`: the PEM in use; undefined when there is none. */
export function showCertificateTtl(
  metrics: Pick<MetricsRegistry, 'readGauge'>,
  clock: Pick<Clock, 'now'>,
  kind: keyof typeof whose,
  current: () => string | undefined,
): void {
  metrics.readGauge(
    `kubelet_certificate_manager_${kind}_ttl_seconds`,
    `Gauge of the shortest TTL (time-to-live) of the Kubelet's ${whose[kind]} certificate. The value is in seconds until certificate expiry (negative if already expired). If ${whose[kind]} certificate is invalid or unused, the value will be +INF.`,
    [],
    () => [[{}, Math.trunc((endOf(current()) - clock.now()) / 1000)]],
  );
}
