import { describe, expect, it } from 'vitest';
import { ConfigError } from '#lib/errors/errors';
import { findOptional, requireOptional } from '#lib/packages/optional-package';

const PACKAGE = { name: 'no-such-package', install: 'no-such-package@1', neededFor: 'for this test' };

describe('requireOptional', () => {
  it('loads a package that is there', () => {
    const entry = 'ulid';
    expect(requireOptional(PACKAGE, entry)).toHaveProperty('ulid');
  });

  it('says the line that installs one that is missing', () => {
    const run = () => requireOptional(PACKAGE);
    expect(run).toThrow(ConfigError);
    expect(run).toThrow('run "npm install no-such-package@1", then restart Node-RED');
  });

  it('says so without loading it, too', () => {
    expect(() => findOptional(PACKAGE)).toThrow(
      expect.objectContaining({ code: 'ERR_SLUICE_PACKAGE_MISSING' }) as Error,
    );
    expect(() => findOptional({ ...PACKAGE, name: 'ulid' })).not.toThrow();
  });

  it('does not take a package that fails to load for a missing one', () => {
    const broken = Object.assign(new Error("Cannot find module 'its-own-dependency'"), {
      code: 'MODULE_NOT_FOUND',
    });
    const run = () =>
      requireOptional(PACKAGE, PACKAGE.name, () => {
        throw broken;
      });
    expect(run).toThrow(broken);
  });
});
