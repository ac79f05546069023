// `cel.bind(name, value, expression)`: a name for a value. Kubernetes does not have it on; policies use variables instead.
import type { Library } from '../declarations.ts';
import { MacroError } from '../macros.ts';

export const bindings: Library = {
  name: 'cel.lib.ext.cel.bindings',
  macros: [
    {
      name: 'bind',
      argumentCount: 3,
      receiver: true,
      expand: (make, target, [variable, value, result]) => {
        if (target?.kind !== 'ident' || target.name !== 'cel') return undefined;
        if (variable!.kind !== 'ident')
          throw new MacroError(variable!.at, 'cel.bind() variable names must be simple identifiers');
        return make.bind(variable!.name, value!, result!);
      },
    },
  ],
};
