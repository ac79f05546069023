// DenyServiceExternalIPs: a Service takes no traffic of addresses that are not its own.
import { services } from '../../api/generated/resources.ts';
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts';
import { refuse } from './request/refuse.ts';
import { previous, requested } from './request/typed-request.ts';

export function createDenyServiceExternalIps(): AdmissionPlugin {
  return {
    name: 'DenyServiceExternalIPs',
    operations: ['CREATE', 'UPDATE'],
    validate(request) {
      const wanted = requested(request, services)?.spec?.externalIPs ?? [];
      if (wanted.length === 0) return;
      const old = request.operation === 'UPDATE' ? previous(request, services)?.spec?.externalIPs : undefined;
      const known = new Set(old);
      if (wanted.some((ip) => !known.has(ip)))
        refuse(request, 'Use of external IPs is denied by admission control');
    },
  };
}
