// The name of a CSI driver, which drivers of devices have too.
import { required, tooLong } from '../../../apimachinery/field-error.ts';
import { type Errors, each } from '../../../apimachinery/validation/checks.ts';
import { dnsSubdomain } from '../../../apimachinery/validation/names.ts';

const maxLength = 63;

/** Upstream's ValidateCSIDriverName: large letters are taken. */
export const driverNameErrors = (field: string, name = ''): Errors => [
  ...(name === '' ? [required(field)] : []),
  ...(name.length > maxLength ? [tooLong(field, maxLength)] : []),
  ...each(field, name, (text) => dnsSubdomain(text.toLowerCase())),
];
