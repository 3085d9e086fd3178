import type { OptionalPackage } from '../../packages/optional-package';

export const PGLITE: OptionalPackage = {
  name: '@electric-sql/pglite',
  install: '@electric-sql/pglite@0.5',
  neededFor: 'for transforms in SQL',
};
