def explained(trace, builder, failure):
    pass
