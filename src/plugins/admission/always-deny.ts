// AlwaysDeny: refuses every write.
import type { AdmissionPlugin, AdmissionRequest } from '../../apiserver/admission/admission.ts';
import { refuse } from './request/refuse.ts';

const deny = (request: AdmissionRequest): never =>
  refuse(request, 'admission control is denying all modifications');

export function createAlwaysDeny(): AdmissionPlugin {
  return {
    name: 'AlwaysDeny',
    operations: ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'],
    admit: deny,
    validate: deny,
  };
}
