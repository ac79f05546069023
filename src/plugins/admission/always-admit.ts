// AlwaysAdmit: says yes. It has no effect, as upstream says when it is enabled.
import type { AdmissionPlugin } from '../../apiserver/admission/admission.ts';

export function createAlwaysAdmit(): AdmissionPlugin {
  return { name: 'AlwaysAdmit', operations: ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'], admit() {} };
}
