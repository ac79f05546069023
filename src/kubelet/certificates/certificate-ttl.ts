// How long the certificates of a node are good.
import type { Clock } from '../../base/clock.ts';
import type { MetricsRegistry, ReadGauge, ReadValues } from '../../component-base/metrics.ts';
import { certificateFacts } from '../../crypto/subject.ts';

type Metrics = Pick<MetricsRegistry, 'readGauge'>;
const declared = {
  client: (metrics: Metrics, read: ReadValues): ReadGauge =>
    metrics.readGauge(
      'kubelet_certificate_manager_client_ttl_seconds',
      "Gauge of the TTL (time-to-live) of the Kubelet's client certificate. The value is in seconds until certificate expiry (negative if already expired). If client certificate is invalid or unused, the value will be +INF.",
      [],
      read,
    ),
  server: (metrics: Metrics, read: ReadValues): ReadGauge =>
    metrics.readGauge(
      'kubelet_certificate_manager_server_ttl_seconds',
      "Gauge of the shortest TTL (time-to-live) of the Kubelet's serving certificate. The value is in seconds until certificate expiry (negative if already expired). If serving certificate is invalid or unused, the value will be +INF.",
      [],
      read,
    ),
};

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
  metrics: Metrics,
  clock: Pick<Clock, 'now'>,
  kind: keyof typeof declared,
  current: () => string | undefined,
): void {
  declared[kind](metrics, () => [[{}, Math.trunc((endOf(current()) - clock.now()) / 1000)]]);
}
