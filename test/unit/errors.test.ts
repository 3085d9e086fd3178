import { describe, expect, it } from 'vitest';
import { DeliveryError, failureClassOf } from '#lib/errors/errors';

describe('failureClassOf', () => {
  it('reads the class of a delivery error', () => {
    const error = new DeliveryError('ERR_SLUICE_DELIVERY_TIMEOUT', 'x', { failure: 'permanent' });
    expect(failureClassOf(error)).toBe('permanent');
  });

  it('treats an error of another origin as transient, so that a good record is kept', () => {
    expect(failureClassOf(new TypeError('boom'))).toBe('transient');
    expect(failureClassOf('boom')).toBe('transient');
  });
});
