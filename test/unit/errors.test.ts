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

describe('an error in the log', () => {
  it('C5 is its code and its text, without the name of its class', () => {
    const error = new DeliveryError('ERR_SLUICE_DELIVERY_TIMEOUT', 'took too long', { failure: 'transient' });
    expect(String(error)).toBe('ERR_SLUICE_DELIVERY_TIMEOUT: took too long');
  });
});
